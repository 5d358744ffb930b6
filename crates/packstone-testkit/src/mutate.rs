//! Where to cut and flip files in sweeps.

/// `count` lengths below `len`, spread from nothing to one byte short.
pub fn cut_points(len: usize, count: usize) -> Vec<usize> {
    let mut points: Vec<usize> =
        (0..count).map(|n| len.saturating_sub(1) * n / count.max(1)).collect();
    points.push(len.saturating_sub(1));
    points.dedup();
    points
}

/// Positions in the head, the middle and the end of `len` bytes.
pub fn flip_points(len: usize, each: usize) -> Vec<usize> {
    let head = 0..each.min(len);
    let middle = (len / 2)..(len / 2 + each).min(len);
    let end = len.saturating_sub(each)..len;
    let mut points: Vec<usize> = head.chain(middle).chain(end).collect();
    points.sort_unstable();
    points.dedup();
    points
}
