//! What conditions mean.

use packstone_container::arrow_table::ColumnKind;
use packstone_container::json;
use packstone_container::json::Value;

use super::{Expr, Rows, double};

/// Columns of all kinds with the edges of each and a null at the end.
fn rows() -> Rows {
    use ColumnKind::{Bool, Float64, Int64, UInt64, Utf8};
    let columns = [("i", Int64), ("u", UInt64), ("f", Float64), ("s", Utf8), ("b", Bool)];
    let text = |text: &str| Value::from(text);
    let rows = [
        vec![Value::from(0), Value::from(0), double(0.0), text(""), true.into()],
        vec![Value::from(i64::MIN), Value::from(1), double(-0.0), text("a"), false.into()],
        vec![
            Value::from(i64::MAX),
            Value::from(u64::MAX),
            double(f64::NAN),
            text("abc"),
            true.into(),
        ],
        vec![
            Value::from(9_007_199_254_740_993_i64),
            Value::from(7),
            double(9_007_199_254_740_992.0),
            text("é"),
            false.into(),
        ],
        vec![
            Value::from(-7),
            Value::from(3),
            double(f64::INFINITY),
            text("a\"b'c\\\n"),
            true.into(),
        ],
        vec![Value::from(3), Value::from(10), double(2.5), text("😀"), false.into()],
        vec![Value::Null, Value::Null, Value::Null, Value::Null, Value::Null],
    ];
    Rows::new(&columns, &rows)
}

#[test]
fn conditions_take_the_rows_they_should() {
    let rows = rows();
    let all = vec![0, 1, 2, 3, 4, 5];
    for (text, expected) in [
        // Integers, by value and over the whole range.
        ("i == 3", vec![5]),
        ("i != 3", vec![0, 1, 2, 3, 4]),
        ("i < 0", vec![1, 4]),
        ("i <= 0", vec![0, 1, 4]),
        ("i > 3", vec![2, 3]),
        ("i >= 3", vec![2, 3, 5]),
        ("3 > i", vec![0, 1, 4]),
        ("i == -9223372036854775808", vec![1]),
        ("i < -9223372036854775808", vec![]),
        ("i > 9223372036854775806", vec![2]),
        ("i < 99999999999999999999999", all.clone()),
        ("u == 18446744073709551615", vec![2]),
        ("u > i", vec![1, 2, 4, 5]),
        // Doubles and integers are not rounded to each other.
        ("i == 9007199254740992.0", vec![]),
        ("i == f", vec![0]),
        ("i > f", vec![3, 5]),
        ("f < i", vec![3, 5]),
        ("f == 9007199254740993", vec![]),
        ("f == 9007199254740992", vec![3]),
        ("f >= 9007199254740993", vec![4]),
        ("u == 1.8446744073709552e19", vec![]),
        ("i == 3.0", vec![5]),
        ("i > 2.5", vec![2, 3, 5]),
        ("f == 0", vec![0, 1]),
        ("f == -0.0", vec![0, 1]),
        // NaN equals nothing and has no order.
        ("f == f", vec![0, 1, 3, 4, 5]),
        ("f != f", vec![2]),
        ("isnan(f)", vec![2]),
        ("isnan(i)", vec![]),
        ("not isnan(f)", vec![0, 1, 3, 4, 5]),
        ("f > 0 or f <= 0", vec![0, 1, 3, 4, 5]),
        ("not f > 0", vec![0, 1, 2]),
        ("f > 1e308", vec![4]),
        // Text by code points.
        ("s == 'abc'", vec![2]),
        ("s < \"b\"", vec![0, 1, 2, 4]),
        ("s > 'é'", vec![5]),
        ("s == 'a\"b\\'c\\\\\\n'", vec![4]),
        ("s == '\\u{1F600}'", vec![5]),
        ("s == \"\\u00e9\"", vec![3]),
        ("s == ''", vec![0]),
        ("startswith(s, 'a')", vec![1, 2, 4]),
        ("endswith(s, 'c')", vec![2]),
        ("contains(s, '')", all.clone()),
        ("contains(s, 'b')", vec![2, 4]),
        ("startswith('abcd', s)", vec![0, 1, 2]),
        // Conditions as values.
        ("b", vec![0, 2, 4]),
        ("not b", vec![1, 3, 5]),
        ("b == true", vec![0, 2, 4]),
        ("b != true", vec![1, 3, 5]),
        ("b == (i > 0)", vec![1, 2]),
        ("true", vec![0, 1, 2, 3, 4, 5, 6]),
        ("false", vec![]),
        // Null is taken by nothing but `is null`, and what is decided without it.
        ("i is null", vec![6]),
        ("i == null", vec![6]),
        ("i is not null", all.clone()),
        ("b != null", all.clone()),
        ("not (i == 3)", vec![0, 1, 2, 3, 4]),
        ("i == i", all.clone()),
        ("b or true", vec![0, 1, 2, 3, 4, 5, 6]),
        ("b and false", vec![]),
        ("not (b and false)", vec![0, 1, 2, 3, 4, 5, 6]),
        ("(b and true) is null", vec![6]),
        ("(i + 1) is null", vec![6]),
        ("s is null and f is null and u is null", vec![6]),
        // Lists.
        ("i in [3, -7, 0]", vec![0, 4, 5]),
        ("i not in [3, -7, 0]", vec![1, 2, 3]),
        ("i in [3.0, 2.5, 9007199254740992.0,]", vec![5]),
        ("f in [2.5, 0, 9007199254740993]", vec![0, 1, 5]),
        ("f not in [-0.0]", vec![2, 3, 4, 5]),
        ("u in []", vec![]),
        ("u not in []", all.clone()),
        ("s in [\"abc\", 'é']", vec![2, 3]),
        ("not s in ['abc']", vec![0, 1, 3, 4, 5]),
        // Arithmetic.
        ("i + 4 == 7", vec![5]),
        ("i - 1 < i", all.clone()),
        ("i + u == 9223372036854775807 + 18446744073709551615", vec![2]),
        ("-i == 7", vec![4]),
        ("- -i == 3", vec![5]),
        ("-(i) > 0", vec![1, 4]),
        ("i * i == 9", vec![5]),
        ("u % 3 == 1", vec![1, 3, 5]),
        ("i % 5 == 3", vec![3, 4, 5]),
        ("i % -5 == -2", vec![3, 4, 5]),
        ("10 % u == 1", vec![4]),
        ("10 % u is null", vec![0, 6]),
        ("i / 2 == 1.5", vec![5]),
        ("i / 0 > 0", vec![2, 3, 5]),
        ("isnan(i / 0)", vec![0]),
        ("f + 0.5 == 3", vec![5]),
        ("f % 2 == 0.5", vec![5]),
        ("2 + 3 * 4 == 14 and (2 + 3) * 4 == 20 and 10 - 3 - 2 == 5", vec![0, 1, 2, 3, 4, 5, 6]),
        // Precedence of words.
        ("i == 3 or i == 0 and b", vec![0, 5]),
        ("(i == 3 or i == 0) and b", vec![0]),
        ("not b and i > 0", vec![3, 5]),
        ("not not b", vec![0, 2, 4]),
        ("`i` == 3 and not(b)", vec![5]),
    ] {
        assert_eq!(
            rows.select(text).unwrap_or_else(|error| panic!("{text}: {error}")),
            expected,
            "{text}"
        );
    }
}

#[test]
fn names_may_be_anything_between_backquotes() {
    let columns =
        ["", "a b", "tick`s", "and", "é", "x.y", "_1"].map(|name| (name, ColumnKind::Int64));
    let rows = Rows::new(&columns, &[(0..7).map(Value::from).collect::<Vec<_>>()]);
    for (at, name) in ["``", "`a b`", "`tick``s`", "`and`", "é", "x.y", "_1"].iter().enumerate() {
        assert_eq!(rows.select(&format!("{name} == {at}")).unwrap(), [0], "{name}");
    }
    assert_eq!(rows.select("`x`.y == 5 and `x.y` == 5").unwrap(), [0]);
    let expr = Expr::parse("`a b` > 1 and x.y in [1] or not startswith(é, 'x') and `a b` is null")
        .unwrap();
    assert_eq!(expr.names(), ["a b", "x.y", "é"]);
    assert!(expr.text().starts_with("`a b` > 1"));
}

#[test]
fn members_inside_of_others_are_found_in_objects() {
    let object = json!({
        "meta": { "kind": "x", "deep": { "n": 3 } },
        "a.b": 1,
        "a": { "b": 2 },
        "list": [1],
        "huge": u128::MAX,
    });
    let object = object.as_object().unwrap();
    let matches = |text: &str| Expr::parse(text).unwrap().matches(object).unwrap();
    assert!(matches("meta.kind == 'x' and meta.deep.n == 3"));
    assert!(matches("a.b == 1"));
    assert!(matches("meta.nothing is null and nothing.at.all is null and list is not null"));
    assert!(matches("huge > 170141183460469231731687303715884105727"));
    assert!(!matches("absent == 1") && !matches("not absent == 1") && matches("absent is null"));
}

#[test]
fn many_rows_are_taken_word_by_word() {
    for count in [0, 1, 63, 64, 65, 1023, 1024, 1025, 5000] {
        let kinds = [("i", ColumnKind::Int64), ("s", ColumnKind::Utf8)];
        let values: Vec<_> = (0..count)
            .map(|row| {
                let null = row % 11 == 0;
                let number = if null { Value::Null } else { Value::from(row) };
                vec![number, Value::from(format!("t{}", row % 3))]
            })
            .collect();
        let rows = Rows::new(&kinds, &values);
        let expected: Vec<usize> =
            (0..count).filter(|row| row % 11 != 0 && row % 7 == 2 && row % 3 == 1).collect();
        assert_eq!(rows.select("i % 7 == 2 and s == 't1'").unwrap(), expected);
        let nulls: Vec<usize> = (0..count).step_by(11).collect();
        assert_eq!(rows.select("i is null").unwrap(), nulls);
    }
}
