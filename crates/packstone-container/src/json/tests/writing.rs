//! The spellings of the original libraries, and losslessness within each.

use proptest::prelude::*;

use super::{plain, tolerant};
use crate::json;
use crate::json::{
    FloatStyle, Key, NonFinite, Number, Object, Style, Value, read, write, write_to,
};

/// Control documents of SDS: `json.dumps(sort_keys=True, indent=2, ensure_ascii=False)` and a line feed.
const SORTED: Style = Style { sort_keys: true, final_newline: true, ..Style::PYDANTIC };

/// `json.dumps` with compact separators.
const PYTHON_COMPACT: Style = Style { item_separator: ",", key_separator: ":", ..Style::PYTHON };

fn rewrite(text: &str, style: &Style) -> String {
    write(&read(text.as_bytes(), &tolerant()).unwrap().value, style)
}

#[test]
fn writes_as_pydantic() {
    // model_dump_json(indent=2) of pydantic 2.13, but for the NaN that it turns into null
    let text = "{\n  \"x\": {\n    \"a\\\"\\\\/\\u0000\\u001f\u{7f}\u{80}é漢\u{2028}😀\\n\": [\n      1.0,\n      0.00001,\n      \
                1e+16,\n      1e-7,\n      -0.0,\n      null,\n      1180591620717411303424,\n      true,\n      null,\n      \
                [],\n      {},\n      {\n        \"k\": [\n          [\n            1\n          ]\n        ]\n      }\n    \
                ]\n  }\n}";
    assert_eq!(rewrite(text, &Style::PYDANTIC), text);
    assert_eq!(
        rewrite(&text.replace("-0.0", "-Infinity"), &Style::PYDANTIC),
        text.replace("-0.0", "null")
    );
    let keeping = Style { non_finite: NonFinite::Token, ..Style::PYDANTIC };
    assert_eq!(rewrite(&text.replace("-0.0", "NaN"), &keeping), text.replace("-0.0", "NaN"));
    for empty in ["{}", "[]", "null", "\"\""] {
        assert_eq!(rewrite(empty, &Style::PYDANTIC), empty);
    }
}

#[test]
fn rewrites_a_shard_list_of_sedpack() {
    let text = r#"{
  "relative_path_self": "test/shards_list.json",
  "number_of_examples": 8,
  "children_shard_lists": [
    {
      "shard_list_info_file": {
        "file_path": "test/a8da220fe0/shards_list.json",
        "hash_checksums": [
          "82642cc8b228d780ec3766abdf61fe2e623a6d7e32744c10ba652452483bc2fa"
        ]
      },
      "number_of_examples": 8,
      "number_of_shards": 1
    }
  ]
}"#;
    assert_eq!(rewrite(text, &Style::PYDANTIC), text);
}

#[test]
fn writes_as_python() {
    // json.dumps of CPython 3.11, default and with separators=(",", ":")
    let text = r#"{"a": [1, 2.5, 1e-07, NaN, Infinity, -Infinity, 1180591620717411303424, true, null], "\u00e9\u007f\u0000\"\\/\u2028\ud83d\ude00": {"e": {}, "l": []}, "\ud800": "\udc80x"}"#;
    assert_eq!(rewrite(text, &Style::PYTHON), text);
    let compact = text.replace(", ", ",").replace(": ", ":");
    assert_eq!(rewrite(text, &PYTHON_COMPACT), compact);
    assert_eq!(rewrite(&compact, &Style::PYTHON), text);
}

#[test]
fn writes_sorted_control_documents() {
    let value =
        plain(r#"{"b":1,"a":{"z":[],"😀":{},"\uffff":1,"Z":[1,{"k":1.5e-07}]}}"#).unwrap().value;
    assert_eq!(
        write(&value, &SORTED),
        "{\n  \"a\": {\n    \"Z\": [\n      1,\n      {\n        \"k\": 1.5e-07\n      }\n    ],\n    \"z\": [],\n    \
         \"\u{ffff}\": 1,\n    \"😀\": {}\n  },\n  \"b\": 1\n}\n"
    );
    // Sorting is for the text only.
    assert_eq!(value.as_object().unwrap().get_index(0).unwrap().0, &Key::from("b"));
}

#[test]
fn indents_by_any_width_and_depth() {
    let style = Style { indent: Some(4), ..Style::PYDANTIC };
    let value = json!({ "a": [1, { "b": [] }] });
    assert_eq!(
        write(&value, &style),
        "{\n    \"a\": [\n        1,\n        {\n            \"b\": []\n        }\n    ]\n}"
    );
    let deep = rewrite(&format!("{}1{}", "[".repeat(50), "]".repeat(50)), &style);
    assert_eq!(deep.lines().nth(50), Some((" ".repeat(200) + "1").as_str()));
    assert_eq!(
        write(&value, &Style { indent: Some(0), ..style }),
        "{\n\"a\": [\n1,\n{\n\"b\": []\n}\n]\n}"
    );
}

#[test]
fn appends_to_what_is_there() {
    let mut out = "x\n".to_owned();
    write_to(&mut out, &json!([1]), &Style { final_newline: true, ..Style::COMPACT });
    assert_eq!(out, "x\n[1]\n");
}

fn numbers() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u128>().prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
        any::<f64>().prop_filter_map("finite", |x| Number::from_f64_in(x, FloatStyle::Python)),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?"
            .prop_map(|text| text.parse().unwrap()),
    ]
}

fn units() -> impl Strategy<Value = Vec<u16>> {
    prop_oneof![
        3 => "\\PC{0,12}".prop_map(|text| text.encode_utf16().collect()),
        1 => any::<String>().prop_map(|text| text.encode_utf16().collect()),
        1 => proptest::collection::vec(prop_oneof![any::<u16>(), 0xd7f0..0xe010_u16], 0..6),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        numbers().prop_map(Value::from),
        units().prop_map(|units| Value::from_utf16(&units)),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((units(), inner), 0..6).prop_map(|members| {
                Value::from(
                    members
                        .into_iter()
                        .map(|(name, value)| (Key::from_utf16(&name), value))
                        .collect::<Object>(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn a_written_value_reads_as_itself_and_rewrites_as_the_same_text(value in values()) {
        for style in [Style::PYDANTIC, Style::COMPACT, Style::PYTHON, PYTHON_COMPACT] {
            let text = write(&value, &style);
            let document = plain(&text).unwrap();
            prop_assert_eq!(&document.value, &value);
            prop_assert!(document.notes.is_empty());
            prop_assert_eq!(write(&document.value, &style), text);
        }
        let sorted = write(&value, &SORTED);
        prop_assert_eq!(rewrite(&sorted, &SORTED), sorted);
    }
}
