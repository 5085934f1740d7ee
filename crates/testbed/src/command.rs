//! Command lines of the lab as values: program, namespace and processor, in a form that a user can
//! type.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{TestbedError, TestbedResult};

/// Command line: a program with its arguments and additional environment variables.
///
/// Displays as one line for a shell, quoted where needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
    environment: Vec<(String, String)>,
}

/// Maximum number of lines of a program's error output that an error contains.
const LAST_LINES: usize = 4;

impl CommandLine {
    /// Returns the command line of the program `program` without arguments.
    pub fn new(program: impl Into<String>) -> Self {
        Self { words: vec![program.into()], environment: Vec::new() }
    }

    /// Adds one argument to the command.
    #[must_use]
    pub fn arg(mut self, word: impl Into<String>) -> Self {
        self.words.push(word.into());
        self
    }

    /// Adds arguments to the command unchanged.
    #[must_use]
    pub fn args<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        self.words.extend(words.into_iter().map(str::to_owned));
        self
    }

    /// Adds one environment variable to those that the program inherits from the lab.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Returns the words of the command: the program and its arguments.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Runs the command through `words`, which end where the program's own name begins (such as `ip
    /// netns exec NAME` or `taskset -c 1`).
    #[must_use]
    pub fn with_prefix(mut self, words: &[&str]) -> Self {
        let mut all: Vec<String> = words.iter().map(|&w| w.to_owned()).collect();
        all.append(&mut self.words);
        self.words = all;
        self
    }

    /// Moves the environment variables into the command's words, for callers that take only words.
    #[must_use]
    pub fn with_environment_as_words(mut self) -> Self {
        let environment = std::mem::take(&mut self.environment);
        if environment.is_empty() {
            return self;
        }
        let settings = environment.into_iter().map(|(name, value)| format!("{name}={value}"));
        self.words = ["env".to_owned()].into_iter().chain(settings).chain(self.words).collect();
        self
    }

    /// Replaces every word of the command and every value of its environment variables by the
    /// result of `change`.
    #[must_use]
    pub fn map_words(mut self, change: impl Fn(&str) -> String) -> Self {
        let values = self.environment.iter_mut().map(|(_, value)| value);
        for text in self.words.iter_mut().chain(values) {
            *text = change(text);
        }
        self
    }

    /// Returns the command as a [`Command`], ready for pipes and files, with an empty standard
    /// input.
    pub fn to_command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::null());
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command
    }

    /// Runs the command to its end and returns its standard output.
    ///
    /// # Errors
    /// The program cannot be started, or it fails; the last lines of its error output are in the
    /// error.
    pub fn run(&self) -> TestbedResult<String> {
        let output = self.to_command().output().map_err(|e| self.not_started(&e))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        let mut last: Vec<&str> =
            complaint.lines().filter(|line| !line.trim().is_empty()).collect();
        // Some programs print the reason, and then once more that they failed.
        last.drain(..last.len().saturating_sub(LAST_LINES));
        let words = if last.is_empty() { output.status.to_string() } else { last.join(" / ") };
        Err(TestbedError::new(self.to_string(), words))
    }

    /// Returns the error for a command whose program could not be started.
    pub(crate) fn not_started(&self, error: &std::io::Error) -> TestbedError {
        let program = &self.words[0];
        if error.kind() == std::io::ErrorKind::NotFound {
            TestbedError::new(program.clone(), "not found; is it installed and in PATH?")
        } else {
            TestbedError::new(format!("cannot start {program}"), error)
        }
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            write!(f, "{name}={} ", quoted(value))?;
        }
        for (i, word) in self.words.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            f.write_str(&quoted(word))?;
        }
        Ok(())
    }
}

/// Returns the argument `word` quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Splits a command template as a shell would, without expansions: spaces separate, `'…'` and `"…"`
/// keep words together, `\` takes the next character literally.
///
/// # Errors
/// A quote does not end.
pub fn split_words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => {
                let next = characters.next().ok_or("the command ends with a backslash")?;
                word.get_or_insert_default().push(next);
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(q) = quote {
        return Err(format!("a quote ({q}) is not closed"));
    }
    words.extend(word);
    Ok(words)
}

/// Returns the path of `program`: the path itself if it has a slash, or the first hit in `PATH`
/// followed by the folders of system programs, which an ordinary user's `PATH` often lacks.
pub fn find_program(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_executable(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Returns the path of a program that the lab needs.
///
/// # Errors
/// It is not installed; the error names the Debian package that contains it.
pub fn require_program(program: &str, package: &str) -> TestbedResult<String> {
    find_program(program).map(|path| path.as_os_str().to_string_lossy().into_owned()).ok_or_else(
        || TestbedError::new(program, format!("not found; Debian package {package} contains it")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_reads_as_a_shell_would_take_it() {
        let command = CommandLine::new("echo").arg("it's").arg("").arg("a=b").env("X", "1 2");
        assert_eq!(command.to_string(), r"X='1 2' echo 'it'\''s' '' a=b");
        let inside = command.with_prefix(&["taskset", "-c", "1"]);
        assert_eq!(inside.words()[..4], ["taskset", "-c", "1", "echo"]);
    }

    #[test]
    fn words_split_and_quotes_hold_together() {
        assert_eq!(
            split_words(r#"a 'b c' "d \"e" f\ g ''"#).unwrap(),
            ["a", "b c", "d \"e", "f g", ""]
        );
        assert!(split_words("a 'b").unwrap_err().contains("not closed"));
        assert!(split_words("a \\").is_err());
        assert!(split_words("  ").unwrap().is_empty());
    }

    #[test]
    fn failures_carry_the_last_lines_of_the_complaint() {
        let script = "for line in 1 2 3 4 5; do echo $line >&2; echo >&2; done; exit 3";
        let failing = CommandLine::new("sh").arg("-c").arg(script);
        let sentence = failing.run().unwrap_err().to_string();
        assert!(sentence.ends_with(": 2 / 3 / 4 / 5"), "{sentence}");
        let missing = CommandLine::new("godwit-no-such-program").run().unwrap_err().to_string();
        assert_eq!(missing, "godwit-no-such-program: not found; is it installed and in PATH?");
    }

    #[test]
    fn programs_are_found_by_name_or_path() {
        let sh = find_program("sh").expect("every machine has sh");
        assert_eq!(find_program(sh.to_str().unwrap()), Some(sh));
        assert_eq!(find_program("/etc/passwd"), None);
        assert_eq!(find_program("godwit-no-such-program"), None);
    }
}
