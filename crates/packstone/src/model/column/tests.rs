//! The four layouts hold, cut, stack and copy the same rows.

use super::*;

fn all(column: &Column) -> Vec<Vec<u8>> {
    (0..column.rows()).map(|r| column.bytes(r).unwrap().to_vec()).collect()
}

#[test]
fn rows_of_one_shape_stack() {
    let data = Buf::from(b"abcdef".to_vec());
    let ragged = Column::ragged(data.clone(), vec![2, 4, 6]).unwrap();
    let apart = Column::scattered_ragged(data, vec![4..6, 0..2, 2..4]).unwrap();
    for (column, want) in [(ragged, b"abcdef"), (apart, b"efabcd")] {
        let (shape, rows) =
            column.clone().with_shapes(2, vec![1, 2, 1, 2, 1, 2]).unwrap().stacked(3).unwrap();
        assert_eq!((&shape[..], &rows.as_dense().unwrap()[..]), (&[1, 2][..], &want[..]));
        assert_eq!((rows.rows(), rows.width()), (3, Some(2)));
        let mixed = column.with_shapes(2, vec![1, 2, 2, 1, 1, 2]).unwrap();
        assert!(mixed.stacked(3).unwrap_err().to_string().contains("[1, 2] and [2, 1]"));
        // What only fills a batch up has no shape to speak of.
        let (shape, rows) = mixed.stacked(1).unwrap();
        assert_eq!((&shape[..], rows.rows()), (&[1, 2][..], 3));
        assert_eq!(rows.as_dense().unwrap()[2..], [0; 4]);
    }
    let none = Column::ragged(Buf::default(), vec![]).unwrap().with_shapes(1, vec![]).unwrap();
    assert_eq!(none.stacked(0).unwrap().1.rows(), 0);
}

#[test]
fn four_layouts_hold_the_same_rows() {
    let want = [b"ab".to_vec(), b"cd".to_vec(), b"ef".to_vec()];
    let data = Buf::from(b"abcdef".to_vec());
    let apart = Buf::from(b"ef..ab..cd".to_vec());
    for column in [
        Column::dense(data.clone(), 2, 3),
        Column::ragged(data, vec![2, 4, 6]),
        Column::scattered(apart.clone(), vec![4, 8, 0], 2),
        Column::scattered_ragged(apart, vec![4..6, 8..10, 0..2]),
    ] {
        let column = column.unwrap();
        assert_eq!(all(&column), want);
        assert!(column.bytes(3).is_none() && column.buf(3).is_none());
        let mut out = [0; 4];
        assert!(column.copy_to(1..3, &mut out).unwrap());
        assert_eq!((&out, column.total(1..3)), (b"cdef", 4));
        assert!(!column.copy_to(1..4, &mut out).unwrap());
        assert_eq!(all(&column.select(&[2, 0, 2]).unwrap()), [2, 0, 2].map(|r| want[r].clone()));
        assert_eq!(all(&column.slice(1..3).unwrap()), want[1..]);
        assert!(column.select(&[3]).is_none() && column.slice(2..4).is_none());
    }
}

#[test]
fn shapes_go_with_their_rows() {
    let data = Buf::from(b"abcdef".to_vec());
    let column = Column::ragged(data, vec![2, 2, 6]).unwrap();
    assert!(column.shape(0).is_none());
    assert!(column.clone().with_shapes(2, vec![1, 2]).is_none());
    let column = column.with_shapes(2, vec![1, 2, 0, 7, 2, 2]).unwrap();
    assert_eq!(column.select(&[2, 0]).unwrap().shape(0), Some(&[2, 2][..]));
    let tail = column.slice(1..3).unwrap();
    assert_eq!((tail.shape(0), tail.shape(2)), (Some(&[0, 7][..]), None));
}

#[test]
fn spans_outside_the_data_are_refused() {
    let data = Buf::from(vec![0; 6]);
    assert!(Column::dense(data.clone(), 4, 2).is_none());
    assert!(Column::scattered(data.clone(), vec![5], 2).is_none());
    assert!(Column::ragged(data.clone(), vec![4, 3, 6]).is_none());
    assert!(Column::ragged(data.clone(), vec![4]).is_none());
    assert!(Column::scattered_ragged(data, vec![5..7]).is_none());
}
