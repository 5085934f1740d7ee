//! "Did you mean": the nearest of the names that would have been right.

/// The candidate that `word` most likely stands for, when one is near enough.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    let word = word.to_ascii_lowercase().replace('_', "-");
    // A third of the word may differ, so that short words are not matched with anything.
    let limit = (word.len() / 3).clamp(1, 4);
    candidates
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= limit)
        .map(|candidate| (distance(word.as_bytes(), candidate.as_bytes()), candidate))
        .filter(|&(far, _)| far <= limit)
        .min_by_key(|&(far, _)| far)
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbors.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j - 1] + same).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = core::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_known_by_hand() {
        for (a, b, far) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("renew", "rewen", 2), ("ab", "ba", 1)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), far, "{a} {b}");
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
