//! Suggestions for misspelled names ("did you mean"): the nearest of the names that would have been
//! right, by insertions, deletions, substitutions and swaps of neighbors.

/// Returns the candidate that `word` most likely stands for; `None` if no candidate is near enough.
pub fn nearest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let word = word.to_ascii_lowercase().replace('_', "-");
    // A third of the word may differ, so that short words are not matched with anything.
    let limit = (word.len() / 3).clamp(1, 4);
    candidates
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= limit)
        .map(|candidate| (strsim::osa_distance(&word, candidate), candidate))
        .filter(|&(far, _)| far <= limit)
        .min_by_key(|&(far, _)| far)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let keys = || ["valid-lifetime", "renew-timer", "id"].into_iter();
        assert_eq!(nearest("valid-lifetme", keys()), Some("valid-lifetime"));
        assert_eq!(nearest("Renew_Timer", keys()), Some("renew-timer"));
        assert_eq!(nearest("colour", keys()), None);
        assert_eq!(nearest("xy", keys()), None);
    }
}
