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
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(10)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let layout = "{msg:>10} {wide_bar:.cyan} {binary_bytes}/{binary_total_bytes} \
                      {binary_bytes_per_sec} {eta}";
        // The template is a constant; the plain bar stands in for it.
        let style = ProgressStyle::with_template(layout);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(title);
        Arc::new(Self(bar))
    }

    /// The bar as the library takes it.
    pub(crate) fn shared(title: &'static str) -> Arc<dyn Progress> {
        Self::new(title)
    }
}

impl Progress for Bar {
    fn total(&self, bytes: u64) {
        self.0.set_length(bytes);
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
