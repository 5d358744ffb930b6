//! A progress bar on standard error at a terminal, and the way a Ctrl-C reaches the library.

use std::io::IsTerminal;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use packstone::exec::Progress;

use crate::interrupt;

/// The bar of one operation; gone when dropped.
#[derive(Debug)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar under `title`; invisible where standard error is no terminal.
    pub(crate) fn new(title: &'static str) -> Arc<Self> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style("{msg:>10} {spinner} {binary_bytes} {binary_bytes_per_sec}"));
        bar.set_message(title);
        if std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
        Arc::new(Self(bar))
    }

    /// A bar of an operation that counts things, not bytes.
    pub(crate) fn counting(title: &'static str) -> Arc<dyn Progress> {
        let bar = Self::new(title);
        bar.0.set_style(style("{msg:>10} {wide_bar:.cyan} {human_pos}/{human_len} {eta}"));
        bar.0.set_length(0);
        bar
    }

    /// The bar as the library takes it.
    pub(crate) fn shared(title: &'static str) -> Arc<dyn Progress> {
        Self::new(title)
    }
}

impl Progress for Bar {
    /// Each part of the work is announced when it is known.
    fn total(&self, bytes: u64) {
        if self.0.length().is_none() {
            let layout = "{msg:>10} {wide_bar:.cyan} {binary_bytes}/{binary_total_bytes} \
                          {binary_bytes_per_sec} {eta}";
            self.0.set_style(style(layout));
        }
        self.0.set_length(self.0.length().unwrap_or(0).saturating_add(bytes));
    }

    fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    fn cancelled(&self) -> bool {
        interrupt::asked()
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The style of a template; these are constants, and a plain bar would stand in for one.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
