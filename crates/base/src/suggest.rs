//! "Did you mean": the nearest of the names that would have been right.

use alloc::vec;

/// Returns the candidate that `word` most likely stands for, when one is near enough.
pub fn nearest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_ascii_lowercase().replace('_', "-");
    // A third of the word may differ, so that short words are not matched with anything.
    let limit = (word.len() / 3).clamp(1, 4);
    candidates
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= limit)
        .map(|candidate| (distance(word.as_bytes(), candidate.as_bytes(), limit), candidate))
        .filter(|&(far, _)| far <= limit)
        .min_by_key(|&(far, _)| far)
        .map(|(_, candidate)| candidate)
}

/// Returns the distance by optimal string alignment: insertions, deletions, substitutions and swaps
/// of neighbors. More than `limit` of them are not counted: the result is then some number above
/// it.
fn distance(a: &[u8], b: &[u8], limit: usize) -> usize {
    let far = limit + 1;
    // Cells further from the diagonal than the limit cannot be part of a near enough alignment.
    let [mut before, mut last, mut row] = [(); 3].map(|()| vec![far; b.len() + 1]);
    for (j, cell) in last.iter_mut().enumerate() {
        *cell = j.min(far);
    }
    for i in 1..=a.len() {
        row.fill(far);
        if i <= limit {
            row[0] = i;
        }
        for j in i.saturating_sub(limit).max(1)..=(i + limit).min(b.len()) {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j - 1] + same).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        let is_far = |cells: &[usize]| cells.iter().all(|&cell| cell >= far);
        if is_far(&row) && is_far(&last) {
            return far;
        }
        (before, last, row) = (last, row, before);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn distances_known_by_hand() {
        for (a, b, far) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("renew", "rewen", 2), ("ab", "ba", 1)]
        {
            for limit in 0..6 {
                let counted = distance(a.as_bytes(), b.as_bytes(), limit);
                assert_eq!(counted.min(limit + 1), far.min(limit + 1), "{a} {b} {limit}");
            }
        }
    }

    /// Checks the distances of all words of up to five letters out of two against a search through
    /// all edits.
    #[test]
    fn distances_are_those_of_a_search() {
        fn search(a: &[u8], b: &[u8]) -> usize {
            match (a, b) {
                ([], rest) | (rest, []) => rest.len(),
                ([x, a_rest @ ..], [y, b_rest @ ..]) => {
                    let mut least = search(a_rest, b_rest) + usize::from(x != y);
                    least = least.min(search(a_rest, b) + 1).min(search(a, b_rest) + 1);
                    if let ([p, q, a_rest @ ..], [r, s, b_rest @ ..]) = (a, b)
                        && p == s
                        && q == r
                    {
                        least = least.min(search(a_rest, b_rest) + 1);
                    }
                    least
                }
            }
        }
        let words: Vec<Vec<u8>> = (0..6_u32)
            .flat_map(|len| (0..1 << len).map(move |bits| (0..len).map(move |at| bits >> at & 1)))
            .map(|letters| letters.map(|letter: u32| b'a' + letter as u8).collect())
            .collect();
        for (a, b) in words.iter().flat_map(|a| words.iter().map(move |b| (a, b))) {
            let far = search(a, b);
            for limit in 0..6 {
                let counted = distance(a, b, limit);
                assert_eq!(counted.min(limit + 1), far.min(limit + 1), "{a:?} {b:?} {limit}");
            }
        }
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let keys = || ["valid-lifetime", "renew-timer", "id"].into_iter();
        assert_eq!(nearest("valid-lifetme", keys()), Some("valid-lifetime"));
        assert_eq!(nearest("Renew_Timer", keys()), Some("renew-timer"));
        assert_eq!(nearest("colour", keys()), None);
        assert_eq!(nearest("xy", keys()), None);
    }
}
