//! What is no condition, and what it says then.

use packstone_container::arrow_table::{Bitmap, Column, ColumnKind, Table, Values};
use packstone_container::json;
use proptest::prelude::*;

use super::{Expr, message};

const COLUMNS: [(&str, ColumnKind); 5] = [
    ("label", ColumnKind::Int64),
    ("id", ColumnKind::UInt64),
    ("snr", ColumnKind::Float64),
    ("name", ColumnKind::Utf8),
    ("ok", ColumnKind::Bool),
];

fn bind(text: &str) -> String {
    message(Expr::parse(text).and_then(|expr| expr.bind(COLUMNS)))
}

#[test]
fn texts_that_are_no_condition_name_the_byte() {
    for (text, expected) in [
        ("", "byte 0: expected a name or a value, found the end [expr/syntax]"),
        ("  ", "byte 2: expected a name or a value, found the end [expr/syntax]"),
        ("label ==", "byte 8: expected a name or a value, found the end [expr/syntax]"),
        ("label = 3", "byte 6: expected ==, found '=' [expr/syntax]"),
        ("ok && ok", "byte 3: expected and, found '&' [expr/syntax]"),
        ("ok | ok", "byte 3: expected or, found '|' [expr/syntax]"),
        ("!ok", "byte 0: expected not, found '!' [expr/syntax]"),
        ("label # 3", "byte 6: expected a name, a value or an operator, found '#' [expr/syntax]"),
        ("label 3", "byte 6: expected an operator or the end, found a number [expr/syntax]"),
        ("1 < label < 3", "byte 10: expected an operator or the end, found \"<\" [expr/syntax]"),
        ("(ok", "byte 3: expected \")\", found the end [expr/syntax]"),
        ("ok)", "byte 2: expected an operator or the end, found \")\" [expr/syntax]"),
        ("label in 3", "byte 9: expected \"[\", found a number [expr/syntax]"),
        ("label in [1 2]", "byte 12: expected \",\", found a number [expr/syntax]"),
        ("label in [id]", "byte 10: expected a number or a text, found \"id\" [expr/syntax]"),
        ("label in [,]", "byte 10: expected a number or a text, found \",\" [expr/syntax]"),
        ("name in [-'a']", "byte 10: expected a number or a text, found a text [expr/syntax]"),
        ("label not 3", "byte 10: expected in, found a number [expr/syntax]"),
        ("label is 3", "byte 9: expected null, found a number [expr/syntax]"),
        (
            "null",
            "byte 0: expected a value, found null, which only \"is null\" asks for [expr/syntax]",
        ),
        (
            "label < null",
            "byte 8: expected a value, found null, which only \"is null\" asks for [expr/syntax]",
        ),
        ("and", "byte 0: expected a name or a value, found \"and\" [expr/syntax]"),
        ("label. == 3", "byte 7: expected a name, found \"==\" [expr/syntax]"),
        (
            "len(name)",
            "byte 0: expected one of startswith, endswith, contains, isnan, found \"len\" [expr/syntax]",
        ),
        ("startswith(name)", "byte 15: expected \",\", found \")\" [expr/syntax]"),
        ("name == 'a", "byte 10: expected a closing '\\'', found the end [expr/syntax]"),
        ("`a", "byte 2: expected a closing \"`\", found the end [expr/syntax]"),
        (
            "name == '\\x41'",
            "byte 9: expected one of the escapes \\\\ \\\" \\' \\n \\r \\t \\0 \\u{…} \\uXXXX [expr/syntax]",
        ),
        (
            "name == '\\ud800'",
            "byte 9: expected one of the escapes \\\\ \\\" \\' \\n \\r \\t \\0 \\u{…} \\uXXXX [expr/syntax]",
        ),
        (
            "name == '\\u{}'",
            "byte 9: expected one of the escapes \\\\ \\\" \\' \\n \\r \\t \\0 \\u{…} \\uXXXX [expr/syntax]",
        ),
        ("label == 3x", "byte 10: expected the end of a number, found 'x' [expr/syntax]"),
        ("label == 1.", "byte 10: expected an operator or the end, found \".\" [expr/syntax]"),
        (
            "label == 170141183460469231731687303715884105728",
            "byte 9: expected an integer of at most 128 bits, found a larger one [expr/syntax]",
        ),
        (
            "snr == 1e400",
            "byte 7: expected a number within the doubles, found a larger one [expr/syntax]",
        ),
        ("é == 1 é", "byte 8: expected an operator or the end, found \"é\" [expr/syntax]"),
    ] {
        assert_eq!(message(Expr::parse(text)), expected, "{text}");
    }
}

#[test]
fn columns_and_types_are_known_before_the_first_row() {
    for (text, expected) in [
        (
            "labl == 3",
            "byte 0: expected one of the columns \"label\", \"id\", \"snr\", \"name\", \"ok\", found \"labl\" [expr/unknown_column]",
        ),
        (
            "ok and x.y",
            "byte 7: expected one of the columns \"label\", \"id\", \"snr\", \"name\", \"ok\", found \"x.y\" [expr/unknown_column]",
        ),
        ("label", "byte 0: expected a condition, found an integer [expr/type_mismatch]"),
        ("snr", "byte 0: expected a condition, found a double [expr/type_mismatch]"),
        ("'true'", "byte 0: expected a condition, found a text [expr/type_mismatch]"),
        ("ok and label", "byte 7: expected a condition, found an integer [expr/type_mismatch]"),
        ("not name", "byte 4: expected a condition, found a text [expr/type_mismatch]"),
        ("label == '3'", "byte 9: expected a number, found a text [expr/type_mismatch]"),
        ("name == 3", "byte 8: expected a text, found an integer [expr/type_mismatch]"),
        ("ok == 1", "byte 6: expected a condition, found an integer [expr/type_mismatch]"),
        (
            "ok < true",
            "byte 3: expected == or != between conditions, found an order [expr/type_mismatch]",
        ),
        ("name + 1 == 2", "byte 0: expected a number, found a text [expr/type_mismatch]"),
        ("1 + ok == 2", "byte 4: expected a number, found a condition [expr/type_mismatch]"),
        ("-name == 1", "byte 1: expected a number, found a text [expr/type_mismatch]"),
        ("label in [1, 'a']", "byte 13: expected a number, found a text [expr/type_mismatch]"),
        ("snr in ['a']", "byte 8: expected a number, found a text [expr/type_mismatch]"),
        ("name in ['a', 1]", "byte 14: expected a text, found an integer [expr/type_mismatch]"),
        (
            "ok in [1]",
            "byte 0: expected a number or a text, found a condition [expr/type_mismatch]",
        ),
        (
            "startswith(label, 'a')",
            "byte 11: expected a text, found an integer [expr/type_mismatch]",
        ),
        ("startswith(name, 1)", "byte 17: expected a text, found an integer [expr/type_mismatch]"),
        ("isnan(name)", "byte 6: expected a number, found a text [expr/type_mismatch]"),
    ] {
        assert_eq!(bind(text), expected, "{text}");
    }
    let many: Vec<_> = (0..25).map(|at| format!("c{at}")).collect();
    let many = many.iter().map(|name| (name.as_str(), ColumnKind::Bool));
    let error = message(Expr::parse("x").unwrap().bind(many));
    assert!(error.contains("\"c19\", 5 more, found \"x\""), "{error}");
}

#[test]
fn objects_are_held_to_types_by_their_values() {
    let object = json!({ "n": 1, "t": "x", "b": true, "list": [], "nothing": null });
    let object = object.as_object().unwrap();
    for (text, expected) in [
        ("n", "byte 0: expected a condition, found an integer [expr/type_mismatch]"),
        ("n == 'x'", "byte 5: expected a number, found a text [expr/type_mismatch]"),
        ("t == 1", "byte 5: expected a text, found an integer [expr/type_mismatch]"),
        ("b == 1", "byte 5: expected a condition, found an integer [expr/type_mismatch]"),
        (
            "b < b",
            "byte 2: expected == or != between conditions, found an order [expr/type_mismatch]",
        ),
        ("list == 1", "byte 0: expected a value, found an array [expr/type_mismatch]"),
        ("1 == list", "byte 5: expected a value, found an array [expr/type_mismatch]"),
        ("list in [1]", "byte 0: expected a number or a text, found an array [expr/type_mismatch]"),
        ("b in [1]", "byte 0: expected a number or a text, found a condition [expr/type_mismatch]"),
        ("n in [1, 'x']", "byte 9: expected a number, found a text [expr/type_mismatch]"),
        ("t in [1]", "byte 6: expected a text, found an integer [expr/type_mismatch]"),
        ("t + 1 == 2", "byte 0: expected a number, found a text [expr/type_mismatch]"),
        ("contains(n, 'x')", "byte 9: expected a text, found an integer [expr/type_mismatch]"),
        ("b or n", "byte 5: expected a condition, found an integer [expr/type_mismatch]"),
    ] {
        assert_eq!(message(Expr::parse(text).unwrap().matches(object)), expected, "{text}");
    }
    assert!(!Expr::parse("nothing == 'x' or nothing + 1 > 2").unwrap().matches(object).unwrap());
}

#[test]
fn integers_beyond_128_bits_are_an_error_with_the_row_unless_it_is_null() {
    let validity = Bitmap::from_fn(3, |row| row != 1);
    let values = Values::Int64(vec![1, i64::MAX, i64::MAX]);
    let column = Column::with_validity(values, validity).unwrap();
    let table = Table::new([("n".to_owned(), column)]).unwrap();
    let select = |text: &str, table: &Table| Expr::parse(text).unwrap().select(table);
    assert_eq!(
        message(select("n * n * n > 0", &table)),
        "record 2, byte 6: expected a result of at most 128 bits, found a larger one [expr/overflow]"
    );
    let known = table.select(&[0, 1]).unwrap();
    assert_eq!(select("n * n * n > 0", &known).unwrap().rows().collect::<Vec<_>>(), [0]);
    let object = json!({ "n": i64::MAX });
    assert_eq!(
        message(Expr::parse("n * n * n > 0").unwrap().matches(object.as_object().unwrap())),
        "byte 6: expected a result of at most 128 bits, found a larger one [expr/overflow]"
    );
    let least = "- (-170141183460469231731687303715884105727 - n) > 0";
    assert!(message(select(least, &known)).contains("expr/overflow"));
}

#[test]
fn nesting_is_bounded_and_lists_of_conditions_are_not() {
    let deep = |count: usize| {
        [
            format!("{}ok{}", "(".repeat(count), ")".repeat(count)),
            format!("{}ok", "not ".repeat(count)),
            format!("{}label == 1", "- ".repeat(count)),
            format!("label{} == 1", " + 1".repeat(count)),
            format!("{}label{} == 1", "(1 + ".repeat(count), ")".repeat(count)),
        ]
    };
    for text in deep(90) {
        assert!(Expr::parse(&text).unwrap().bind(COLUMNS).is_ok(), "{text}");
    }
    for text in deep(101).into_iter().chain(deep(100_000)) {
        assert!(
            message(Expr::parse(&text))
                .ends_with("expected at most 100 levels, found more [expr/too_deep]")
        );
    }
    let wide = vec!["label == 1"; 10_000];
    let numbers = vec!["7"; 10_000].join(",");
    for text in [wide.join(" or "), wide.join(" and "), format!("label in [{numbers}]")] {
        assert!(Expr::parse(&text).unwrap().bind(COLUMNS).is_ok());
    }
}

#[test]
fn a_filter_is_for_the_columns_it_was_bound_to() {
    let filter = Expr::parse("label > 1 and ok").unwrap().bind(COLUMNS).unwrap();
    let used = [("label".to_owned(), ColumnKind::Int64), ("ok".to_owned(), ColumnKind::Bool)];
    assert_eq!(filter.columns(), used);
    let table = |label: Values| {
        let ok = Values::Bool(Bitmap::filled(label.len(), true));
        Table::new([("label".to_owned(), Column::new(label)), ("ok".to_owned(), Column::new(ok))])
            .unwrap()
    };
    let taken = filter.select(&table(Values::Int64(vec![1, 2]))).unwrap();
    assert_eq!(taken.rows().collect::<Vec<_>>(), [1]);
    let other = filter.select(&table(Values::Float64(vec![2.0])));
    assert!(message(other).contains("expected int64 in column \"label\", found float64"));
    let none =
        Table::new([("ok".to_owned(), Column::new(Values::Bool(Bitmap::default())))]).unwrap();
    assert!(
        message(filter.select(&none))
            .contains("expected one of the columns \"ok\", found \"label\"")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_text_breaks_the_parser(text in ".{0,60}") {
        let _ = Expr::parse(&text).and_then(|expr| expr.bind(COLUMNS));
    }

    #[test]
    fn no_words_break_the_parser(words in prop::collection::vec(prop::sample::select(vec![
        "label", "snr", "name", "ok", "(", ")", "[", "]", ",", ".", "-", "+", "*", "/", "%", "==", "!=", "<", ">=", "and",
        "or", "not", "in", "is", "null", "true", "1", "2.5", "'a'", "startswith", "isnan", "`x`", "\\", "'", "\u{feff}",
    ]), 0..25)) {
        let text = words.join(" ");
        let _ = Expr::parse(&text).and_then(|expr| expr.bind(COLUMNS));
        let _ = Expr::parse(&words.concat());
    }
}
