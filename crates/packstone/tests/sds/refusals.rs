//! Records that break a rule, by the names of the library's refusals.

use packstone::formats::sds::parts::axes::{Axis, Coordinate};
use packstone::formats::sds::parts::record::{Record, RecordField};
use packstone::json::{self, Object, Value};
use packstone::model::DType;
use packstone_io::Buf;

/// A record of three floats along one axis.
pub(crate) fn plain() -> Record {
    let field = RecordField {
        dtype: DType::Float32,
        shape: vec![3],
        data: Buf::from(vec![0; 12]),
        axes: vec![Axis::new("t", 3)],
        metadata: Object::new(),
    };
    Record { id: "r".to_owned(), fields: vec![("a".to_owned(), field)], ..Record::default() }
}

fn typed(record: &mut Record, dtype: DType, size: usize) {
    record.fields[0].1.dtype = dtype;
    record.fields[0].1.data = Buf::from(vec![0; 3 * size]);
}

fn coordinate(record: &mut Record, coordinate: Coordinate) {
    record.fields[0].1.axes[0].coordinate = Some(coordinate);
}

fn number(text: &str) -> Option<json::Number> {
    Some(text.parse().unwrap())
}

type Change = fn(&mut Record);

pub(crate) const CHANGES: &[(&str, Change)] = &[
    ("object-array", |r| typed(r, DType::Json, 8)),
    ("complex128", |r| typed(r, DType::Complex128, 16)),
    ("float128", |r| typed(r, DType::Float128, 16)),
    ("unicode-string", |r| typed(r, DType::FixedText(1), 4)),
    ("byte-string", |r| typed(r, DType::FixedBytes(1), 1)),
    ("datetime64", |r| typed(r, DType::DateTime(None), 8)),
    ("timedelta64", |r| typed(r, DType::TimeDelta(None), 8)),
    ("void", |r| typed(r, DType::Void(3), 3)),
    ("structured-array", |r| typed(r, DType::Void(4), 4)),
    ("scalar-without-axes", |r| {
        r.fields[0].1.shape = Vec::new();
        r.fields[0].1.axes = Vec::new();
        r.fields[0].1.data = Buf::from(vec![0; 4]);
    }),
    ("no-fields", |r| r.fields.clear()),
    ("empty-id", |r| r.id.clear()),
    ("empty-field-name", |r| r.fields[0].0.clear()),
    ("rank-mismatch", |r| r.fields[0].1.axes.push(Axis::new("u", 1))),
    ("length-mismatch", |r| r.fields[0].1.axes[0].length = 4),
    ("axis-name-empty", |r| r.fields[0].1.axes[0].name.clear()),
    ("axis-name-repeated", |r| {
        r.fields[0].1.shape = vec![3, 1];
        r.fields[0].1.axes.push(Axis::new("t", 1));
    }),
    ("metadata-nan", |r| {
        let options = json::ReadOptions::default().with_nan(true);
        r.metadata.insert("x", json::read(b"NaN", &options).unwrap().value);
    }),
    ("metadata-infinity-coordinate", |r| {
        let (start, step) = (number("1e999"), number("1"));
        coordinate(r, Coordinate { start, step, ..Coordinate::default() });
    }),
    ("metadata-lone-surrogate", |r| {
        r.metadata.insert("x", Value::from_utf16(&[0xd800]));
    }),
    ("coordinate-two-forms", |r| {
        let values = Some(vec![Value::from(1); 3]);
        let (start, step) = (number("0"), number("1"));
        coordinate(r, Coordinate { values, start, step, ..Coordinate::default() });
    }),
    ("coordinate-start-only", |r| {
        coordinate(r, Coordinate { start: number("0"), ..Coordinate::default() });
    }),
    ("coordinate-values-length", |r| {
        coordinate(r, Coordinate { values: Some(vec![Value::Null]), ..Coordinate::default() });
    }),
    ("coordinate-reference-missing", |r| {
        coordinate(r, Coordinate { reference: Some("nope".to_owned()), ..Coordinate::default() });
    }),
    ("shared-axis-disagrees", |r| {
        let mut other = r.fields[0].1.clone();
        r.fields[0].1.axes[0].id = Some("s".to_owned());
        other.shape = vec![2];
        other.data = Buf::from(vec![0; 8]);
        other.axes = vec![Axis { id: Some("s".to_owned()), ..Axis::new("t", 2) }];
        r.fields.push(("b".to_owned(), other));
    }),
];
