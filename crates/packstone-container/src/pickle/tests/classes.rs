//! Pickles of classes, byte for byte.

use super::super::{Class, classes};
use super::{hex, scanned};
use crate::digest;

#[test]
fn the_four_pickles_of_one_field() {
    for (class, pickle, sha256) in [
        (
            Class::Dict,
            "8004951f000000000000007d948c0464617461948c086275696c74696e73948c0464696374949394732e",
            "8ad074815aa2d5068b9cc8e2839e8662e5fdfab908a4bec4214324cadc5bb6b9",
        ),
        (
            Class::List,
            "8004951f000000000000007d948c0464617461948c086275696c74696e73948c046c697374949394732e",
            "7e87f5770f4089df211f84ed787e849d7b2fa4c037d3369913ada6d4635477cb",
        ),
        (
            Class::Tuple,
            "80049520000000000000007d948c0464617461948c086275696c74696e73948c057475706c65949394732e",
            "03f155a43a53829ac4d97e29efed8a7ad0d10cd54cc3af8955d38e0eab5d177a",
        ),
        (
            Class::OrderedDict,
            "80049529000000000000007d948c0464617461948c0b636f6c6c656374696f6e73948c0b4f7264657265\
             6444696374949394732e",
            "88e168abf79c09d75d24b2ddb9343fe5b555bd29c6767adbc4f06b65ae2622f7",
        ),
    ] {
        let written = classes(&[("data", class)]).unwrap();
        assert_eq!(written, hex(pickle), "{class:?}");
        assert_eq!(digest::hex(&digest::sha256(&written)), sha256, "{class:?}");
        let scan = scanned(&written).unwrap();
        assert_eq!(scan.globals.len(), 1);
        assert_eq!(
            (&*scan.globals[0].module, &*scan.globals[0].name),
            (class.module(), class.name())
        );
        assert_eq!(Class::from_name(class.name()), Some(class));
    }
    assert_eq!(Class::from_name("Dict"), None);
}

#[test]
fn several_fields_share_what_python_shares() {
    let (d, l, t, o) = (Class::Dict, Class::List, Class::Tuple, Class::OrderedDict);
    assert_eq!(classes(&[]).unwrap(), hex("80047d942e"));
    assert_eq!(
        classes(&[("a", d), ("b", l), ("c", d), ("d", o), ("e", t), ("f", o)]).unwrap(),
        hex(
            "8004956a000000000000007d94288c0161948c086275696c74696e73948c04646963749493948c0162946802\
             8c046c6973749493948c01639468048c0164948c0b636f6c6c656374696f6e73948c0b4f72646572656444\
             6963749493948c01659468028c057475706c659493948c016694680c752e"
        )
    );
    let long = "x".repeat(300);
    let digest = |fields: &[(&str, Class)]| digest::hex(&digest::sha256(&classes(fields).unwrap()));
    assert_eq!(classes(&[(&long, l), ("é", l)]).unwrap()[11..18], *b"}\x94(X\x2c\x01\0");
    // `{"field 0": dict, "field 1": list, …}` with 999 fields, changing every time, and every 250 times.
    let names: Vec<String> = (0..1000).map(|n| format!("field {n}")).collect();
    let fields = |class: fn(usize) -> usize, count: usize| -> Vec<(&str, Class)> {
        let names = names.iter().enumerate().take(count);
        names.map(|(n, name)| (&**name, [d, l, t, o][class(n)])).collect()
    };
    assert_eq!(
        digest(&fields(|n| n % 4, 999)),
        "1a7ef21d6c6821651d527c01ce619741dbe55f133e16cbaadf6b5a9054546c94"
    );
    assert_eq!(
        digest(&fields(|n| n / 250, 999)),
        "d5ec584077cf723567dc6bed253e6580801698b2282c7612284db62f96857786"
    );
    assert_eq!(classes(&fields(|n| n % 4, 1000)), None);
    assert_eq!(classes(&[(&"x".repeat(64 << 10), d)]), None);
}
