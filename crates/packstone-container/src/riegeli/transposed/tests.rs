//! A worked example, and machines that go wrong.

use super::*;
use crate::Limits;
use crate::riegeli::ChunkKind;

/// Three records of the original, two of them messages: `08 96 01 12 02 18 02`, `08 97 01 22 02 68 69` and `ff`.
const EXAMPLE: &[u8] = &[
    0x00, // not compressed
    0x23, // the header has 35 bytes
    0x03, 0x04, // 3 buckets, 4 buffers
    0x05, 0x01, 0x01, // lengths of the buckets
    0x01, 0x04, 0x01, 0x01, // lengths of the buffers
    0x09, // 9 nodes
    0x16, 0x03, 0x18, 0x02, 0x68, 0x02, 0x26, 0x08, 0x01, // tags
    0x0b, 0x00, 0x0c, 0x10, 0x0e, 0x10, 0x0d, 0x0a, 0x0f, // next, those from 9 on implicit
    0x0c, 0x00, 0x01, // subtypes of nodes 2, 4 and 7
    0x00, 0x01, 0x02, // buffers of nodes 4, 7 and 8
    0x08, // first node
    b'i', 0x17, 0x01, 0x16, 0x01, // bucket of buffers 0 and 1
    0xff, // bucket of buffer 2
    0x01, // bucket of buffer 3
    0x00, // transitions
];

const RECORDS: [&[u8]; 3] =
    [&[0x08, 0x96, 1, 0x12, 2, 0x18, 2], &[0x08, 0x97, 1, 0x22, 2, b'h', b'i'], &[0xff]];

fn decode_as(data: &[u8], records: u64, decoded_size: u64) -> Result<Vec<Vec<u8>>, ChunkErrorKind> {
    let header = ChunkHeader::of(ChunkKind::Transposed, data, records, decoded_size);
    let mut decoder = ChunkDecoder::new(Limits::default());
    let records = decode(&mut decoder, &header, data)?;
    Ok(records.iter().map(<[u8]>::to_vec).collect())
}

fn fault(data: &[u8], records: u64, decoded_size: u64) -> TransposedError {
    match decode_as(data, records, decoded_size) {
        Err(ChunkErrorKind::Transposed(error)) => {
            assert!(!error.to_string().is_empty());
            error
        }
        other => panic!("{other:?}"),
    }
}

fn with(at: usize, value: u8) -> Vec<u8> {
    let mut data = EXAMPLE.to_vec();
    data[at] = value;
    data
}

#[test]
fn the_example_decodes() {
    assert_eq!(decode_as(EXAMPLE, 3, 15).unwrap(), RECORDS);
}

#[test]
fn counts_and_sizes_must_be_those_of_the_header() {
    use TransposedError as E;
    for (records, size) in [(2, 15), (4, 15), (3, 14), (3, 16), (0, 15), (0, 0), (3, 1 << 20)] {
        let error = fault(EXAMPLE, records, size);
        let counted = matches!(error, E::Records { .. } | E::Nesting | E::Buffers { .. });
        assert!(counted, "{records} {size}: {error}");
    }
}

#[test]
fn damage_has_its_name() {
    use TransposedError as E;
    let found = |at, value| fault(&with(at, value), 3, 15);
    assert!(matches!(found(2, 0xff), E::Header("the number of buckets")));
    assert!(matches!(found(3, 0x7f), E::Header("the number of buffers")));
    assert!(matches!(found(4, 4), E::Buffers { what: "a buffer within its bucket", .. }));
    assert!(matches!(found(4, 50), E::Buffers { what: "a bucket within its chunk", .. }));
    assert!(matches!(found(8, 5), E::Buffers { what: "a buffer within its bucket", .. }));
    assert!(matches!(found(8, 3), E::Buffers { what: "buckets without bytes of no buffer", .. }));
    assert!(matches!(
        found(8, 0x7f),
        E::Buffers { what: "buffers no larger than the records", .. }
    ));
    assert!(matches!(found(11, 0x7f), E::Header("the number of nodes")));
    assert!(matches!(found(12, 5), E::Tag { node: 0, tag: 5 }));
    assert!(matches!(found(12, 0x17), E::Tag { node: 0, tag: 0x17 }));
    assert!(matches!(found(21, 0x12), E::Index { what: "a node", found: 9, .. }));
    assert!(matches!(found(21, 9), E::Cycle(0)));
    assert!(matches!(found(30, 138), E::Tag { node: 2, tag: 0x18 }));
    assert!(matches!(found(33, 4), E::Index { what: "a buffer", limit: 4, found: 4 }));
    assert!(matches!(found(36, 9), E::Index { what: "a node", limit: 9, found: 9 }));
    assert!(matches!(found(1, 0x24), E::HeaderEnd(1)));
    assert!(matches!(found(1, 0x22), E::Header("the first node")));
    // A string, a varint and a record longer than their buffers.
    assert!(matches!(found(43, 2), E::Value("a record")));
    assert!(matches!(found(32, 5), E::Value("a varint")));
    // A jump beyond the nodes.
    assert!(matches!(found(44, 0xfc), E::Index { what: "a node", found: 63, .. }));
    // Buckets without buffers for their bytes, buffers without buckets.
    let mut data = EXAMPLE.to_vec();
    data.splice(2..11, [3, 3, 5, 1, 1, 1, 4, 1]);
    data[1] -= 1;
    assert!(matches!(
        fault(&data, 3, 15),
        E::Buffers { what: "buckets without bytes of no buffer", .. }
    ));
    data.splice(2..7, [0, 3]);
    data[1] -= 3;
    assert!(matches!(fault(&data, 3, 15), E::Buffers { what: "buckets for the buffers", .. }));
}

#[test]
fn every_cut_is_an_error() {
    for len in 0..EXAMPLE.len() {
        let result = decode_as(&EXAMPLE[..len], 3, 15);
        assert!(result.is_err(), "{len}: {result:?}");
    }
}

/// No change of one byte makes it hang or panic; what still decodes keeps to the header.
#[test]
fn every_changed_byte_ends_well() {
    for at in 0..EXAMPLE.len() {
        for value in 0..=255 {
            if let Ok(records) = decode_as(&with(at, value), 3, 15) {
                assert_eq!((records.len(), records.concat().len()), (3, 15));
            }
        }
    }
}

/// A machine without buffers: tags, next ones, first node, transitions.
fn machine(tags: &[u8], next: &[u32], first: u8, transitions: &[u8]) -> Vec<u8> {
    let mut front = vec![0, 0];
    crate::wire::put_varint(tags.len() as u64, &mut front);
    front.extend_from_slice(tags);
    next.iter().for_each(|next| crate::wire::put_varint((*next).into(), &mut front));
    front.push(first);
    let mut data = vec![0];
    crate::wire::put_varint(front.len() as u64, &mut data);
    [data, front, transitions.to_vec()].concat()
}

#[test]
fn machines_that_go_on_without_an_end_are_stopped() {
    use TransposedError as E;
    // A record, then nothing for as long as there are transitions: each leads through a chain of 1000.
    let mut tags = vec![0; 1002];
    tags[1001] = 3;
    let next: Vec<u32> = (0..1002).map(|n| if n < 1000 { 1002 + n + 1 } else { 0 }).collect();
    let data = machine(&tags, &next, 0, &[0; 10_000]);
    assert!(matches!(fault(&data, 1, 0), E::Idle(0)));
    // The same without transitions does nothing wrong but make no record.
    let data = machine(&tags, &next, 0, &[]);
    assert!(matches!(fault(&data, 1, 0), E::Records { expected: 1, found: 0, .. }));
    // Two nodes that lead to each other.
    assert!(matches!(fault(&machine(&[0, 3], &[3, 2], 0, &[]), 1, 0), E::Cycle(0)));
    // One that leads to itself, but only on request.
    assert_eq!(decode_as(&machine(&[3], &[0], 0, &[0, 0]), 3, 0).unwrap(), [[0u8; 0]; 3]);
    assert!(matches!(fault(&machine(&[3], &[0], 0, &[0, 0, 0]), 3, 0), E::Records { .. }));
}

#[test]
fn submessages_must_match() {
    use TransposedError as E;
    // Field 1 ends and starts: an empty submessage in one record.
    assert_eq!(decode_as(&machine(&[14, 2, 3], &[4, 5, 0], 0, &[]), 1, 2).unwrap(), [[0x0a, 0]]);
    // Starts without an end, never starts, a record within one, ends for ever.
    assert!(matches!(fault(&machine(&[2, 3], &[3, 0], 0, &[]), 1, 2), E::Nesting));
    assert!(matches!(fault(&machine(&[3, 14], &[3, 0], 0, &[]), 1, 2), E::Nesting));
    assert!(matches!(fault(&machine(&[14, 3], &[3, 0], 0, &[]), 1, 2), E::Nesting));
    assert!(matches!(fault(&machine(&[14], &[0], 0, &[0; 100]), 1, 6), E::Nesting));
}

/// The header of a chunk can decode to a great many nodes; their memory counts.
#[test]
fn memory_for_nodes_is_limited() {
    let data = machine(&[3; 1000], &[0; 1000], 0, &[]);
    let header = ChunkHeader::of(ChunkKind::Transposed, &data, 1, 0);
    let attempt = |bytes| {
        let mut decoder = ChunkDecoder::new(Limits::default().with_decoded_bytes(bytes));
        decode(&mut decoder, &header, &data).map(|records| records.len())
    };
    assert_eq!(attempt(100_000).unwrap(), 1);
    assert!(matches!(attempt(10_000), Err(ChunkErrorKind::Limit { limit: 10_000, .. })));
}

/// The same for a chunk of the original with every kind of field, whose hash would hide all this.
#[test]
fn every_changed_byte_of_a_real_machine_ends_well() {
    let path = "/../../tests/golden/arrayrecord/tr_proto_none.arrayrecord";
    let file = std::fs::read([env!("CARGO_MANIFEST_DIR"), path].concat()).unwrap();
    let file = packstone_io::Buf::from(file);
    let window = crate::riegeli::Window::whole(&file);
    let placed = crate::riegeli::Placed::find(window, 64, 60_000).unwrap();
    assert_eq!((placed.header.kind, placed.header.records), (ChunkKind::Transposed, 40));
    let mut decoder = ChunkDecoder::new(Limits::default());
    let mut data = placed.data(window, decoder.pool()).unwrap().bytes().to_vec();
    let (mut same, mut different, mut refused) = (0, 0, 0);
    let whole = decode(&mut decoder, &placed.header, &data).unwrap();
    for at in 0..data.len() {
        for flip in [1, 0x80] {
            data[at] ^= flip;
            match decode(&mut decoder, &placed.header, &data) {
                Ok(records) if records.iter().eq(whole.iter()) => same += 1,
                Ok(records) => {
                    assert_eq!((records.len(), records.joined().len()), (40, whole.joined().len()));
                    different += 1;
                }
                Err(_) => refused += 1,
            }
            data[at] ^= flip;
        }
    }
    assert_eq!(same + different + refused, 2 * data.len());
    assert!(refused > data.len() / 2 && different > data.len() / 2, "{same} {different} {refused}");
}
