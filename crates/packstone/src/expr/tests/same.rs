//! Any condition over any rows says the same of a table as of objects.

use packstone_container::arrow_table::ColumnKind;
use packstone_container::json::Value;
use proptest::prelude::*;

use super::{Expr, Rows, double};

/// Texts of numbers.
fn number() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["i", "u", "f", "i", "f"]).prop_map(str::to_owned),
        prop::sample::select(vec![
            "0",
            "1",
            "2",
            "3",
            "7",
            "-1",
            "0.0",
            "0.5",
            "-2.5",
            "1e300",
            "9007199254740993",
            "9007199254740992.0",
            "9223372036854775807",
            "18446744073709551615",
            "9223372036854775808.0"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%"]), inner.clone())
                .prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            inner.prop_map(|a| format!("-({a})")),
        ]
    })
}

/// Texts of conditions.
fn condition() -> impl Strategy<Value = String> {
    let text = || prop::sample::select(vec!["s", "t", "'a'", "'b'", "''", "'é'"]);
    let sign = || prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        prop::sample::select(vec!["b", "c", "true", "false", "b is null", "s is not null"])
            .prop_map(str::to_owned),
        (number(), sign(), number()).prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
        (text(), sign(), text()).prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
        (number(), prop::bool::ANY).prop_map(|(a, not)| {
            format!(
                "{a} {} [1, -0.0, 2.5, 9007199254740993, 9007199254740992.0]",
                if not { "not in" } else { "in" }
            )
        }),
        (text(), prop::bool::ANY)
            .prop_map(|(a, not)| format!("{a} {} ['a', '']", if not { "not in" } else { "in" })),
        (prop::sample::select(vec!["startswith", "endswith", "contains"]), text(), text())
            .prop_map(|(name, a, b)| format!("{name}({a}, {b})")),
        number().prop_map(|a| format!("isnan({a})")),
        number().prop_map(|a| format!("{a} is null")),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| format!("not ({a})")),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|all| format!("({})", all.join(" and "))),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|all| format!("({})", all.join(" or "))),
            (inner.clone(), prop::sample::select(vec!["==", "!="]), inner.clone())
                .prop_map(|(a, sign, b)| format!("({a}) {sign} ({b})")),
            inner.prop_map(|a| format!("({a}) is null")),
        ]
    })
}

fn or_null(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop_oneof![1 => Just(Value::Null), 5 => values]
}

fn row() -> impl Strategy<Value = Vec<Value>> {
    let int = prop_oneof![
        (-3i64..10).prop_map(Value::from),
        prop::sample::select(vec![i64::MIN, i64::MAX, 9_007_199_254_740_993]).prop_map(Value::from),
    ];
    let unsigned = prop_oneof![
        (0u64..10).prop_map(Value::from),
        prop::sample::select(vec![u64::MAX, 1 << 63]).prop_map(Value::from),
    ];
    let float = prop_oneof![
        prop::sample::select(vec![
            0.0,
            -0.0,
            0.5,
            2.5,
            1e300,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            9_007_199_254_740_992.0,
            5e-324
        ])
        .prop_map(double),
        (-3i32..10).prop_map(|x| double(f64::from(x))),
    ];
    let text = || prop::sample::select(vec!["", "a", "b", "ab", "é"]).prop_map(Value::from);
    (
        or_null(int),
        or_null(unsigned),
        or_null(float),
        or_null(text()),
        or_null(text()),
        or_null(prop::bool::ANY.prop_map(Value::from)),
        or_null(prop::bool::ANY.prop_map(Value::from)),
    )
        .prop_map(|(i, u, f, s, t, b, c)| vec![i, u, f, s, t, b, c])
}

const COLUMNS: [(&str, ColumnKind); 7] = [
    ("i", ColumnKind::Int64),
    ("u", ColumnKind::UInt64),
    ("f", ColumnKind::Float64),
    ("s", ColumnKind::Utf8),
    ("t", ColumnKind::Utf8),
    ("b", ColumnKind::Bool),
    ("c", ColumnKind::Bool),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn tables_and_objects_agree(text in condition(), rows in prop::collection::vec(row(), 0..70)) {
        let rows = Rows::new(&COLUMNS, &rows);
        match rows.select(&text) {
            Ok(taken) => {
                // What is taken, what is refused and what is null make up all rows.
                let refused = rows.select(&format!("not ({text})")).unwrap();
                let null = rows.select(&format!("({text}) is null")).unwrap();
                prop_assert_eq!(taken.len() + refused.len() + null.len(), rows.objects.len());
            }
            Err(error) => {
                prop_assert_eq!(error.code(), "expr/overflow");
                let expr = Expr::parse(&text).unwrap();
                prop_assert!(rows.objects.iter().any(|object| expr.matches(object).is_err()));
            }
        }
    }
}
