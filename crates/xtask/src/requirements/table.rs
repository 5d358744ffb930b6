//! One requirements page, parsed: the numbers it promises and the rows it has.

/// A parsed page.
pub(super) struct Table {
    prefix: String,
    width: usize,
    numbers: std::ops::RangeInclusive<u32>,
    pub(super) rows: Vec<Row>,
}

/// One row of the table.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) shown: Shown,
}

/// What the last column says.
pub(super) enum Shown {
    /// The tests, each as `file::function`.
    By(Vec<String>),
    /// `not testable:` and a reason.
    NotTestable,
    /// `(open)`.
    Open,
    /// None of these.
    Nothing,
}

impl Table {
    /// Every number the page must have a row for, in order.
    pub(super) fn expected_ids(&self) -> Vec<String> {
        let (prefix, width) = (&self.prefix, self.width);
        self.numbers.clone().map(|number| format!("{prefix}{number:0width$}")).collect()
    }
}

/// Parses a page; lines outside of the table are free text.
pub(super) fn parse(text: &str) -> Result<Table, String> {
    let ids = text
        .lines()
        .find_map(|line| line.strip_prefix("ids: "))
        .ok_or("expected a line `ids: FIRST..LAST`, found none")?;
    let range = ids.trim().split_once("..").and_then(|(first, last)| {
        let (prefix, first) = split_number(first)?;
        let (same, last) = split_number(last)?;
        (prefix == same && first.len() == last.len()).then_some((prefix, first, last))
    });
    let (prefix, first, last) =
        range.ok_or_else(|| format!("expected `ids: FIRST..LAST`, found `{ids}`"))?;
    let number = |digits: &str| digits.parse::<u32>().map_err(|error| format!("{digits}: {error}"));
    Ok(Table {
        prefix: prefix.to_owned(),
        width: first.len(),
        numbers: number(first)?..=number(last)?,
        rows: text.lines().filter_map(|line| row(line, prefix)).collect(),
    })
}

/// `SED-001` as `SED-` and `001`.
fn split_number(id: &str) -> Option<(&str, &str)> {
    let digits = id.len() - id.chars().rev().take_while(char::is_ascii_digit).count();
    let (prefix, number) = id.split_at_checked(digits)?;
    (!prefix.is_empty() && !number.is_empty()).then_some((prefix, number))
}

/// A table line whose first cell begins with the page's prefix.
fn row(line: &str, prefix: &str) -> Option<Row> {
    let cells = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let id = cells.split('|').next()?.trim();
    let shown = cells.rsplit('|').next()?.trim();
    id.starts_with(prefix).then(|| Row { id: id.to_owned(), shown: shown_by(shown) })
}

fn shown_by(cell: &str) -> Shown {
    if cell.contains("(open)") {
        return Shown::Open;
    }
    if let Some(reason) = cell.strip_prefix("not testable:") {
        return if reason.trim().is_empty() { Shown::Nothing } else { Shown::NotTestable };
    }
    let tests: Vec<String> = cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    if tests.is_empty() { Shown::Nothing } else { Shown::By(tests) }
}
