//! Tests of the preprocessor.

use super::*;

fn no_files(include: Include<'_>) -> Result<IncludedFile, String> {
    Err(format!("{} is not there", include.name))
}

fn text_with(file: &str, reader: &IncludeReader<'_>) -> (String, Vec<String>) {
    let defines = [("N".to_owned(), "7".to_owned())];
    let Preprocessed { text, sources, faults, .. } =
        run(file.as_bytes(), "a.cfg", &defines, reader);
    assert_eq!(text.octets.len(), text.origins.len());
    let faults = faults.iter().map(|fault| {
        let problem = sources.problem(fault.at, fault.message.clone());
        let file = problem.file.map(|file| file + ":").unwrap_or_default();
        format!("{file}{}: {}", problem.line, problem.message)
    });
    (String::from_utf8(text.octets).unwrap(), faults.collect())
}

fn text(file: &str) -> (String, Vec<String>) {
    text_with(file, &no_files)
}

#[test]
fn names_are_replaced_outside_of_strings_and_comments() {
    let file = "#define A B /* b */\n#define B (N+1) // c\n{ c8(A), \"A\", 'A' # A\n /* A */ AA }";
    let expected = "\n\n{ c8((7+1)), \"A\", 'A' # A\n /* A */ AA }";
    assert_eq!(text(file), (expected.to_owned(), vec![]));
}

#[test]
fn macros_with_arguments_are_replaced() {
    for (file, expected) in [
        ("#define F(x) c8(x), x\nF(N)", "\nc8(7), 7"),
        ("#define F(a,b) {a b}\nF( 1 , (2,3) )", "\n{1 (2,3)}"),
        ("#define F() 5\nF() F", "\n5 F"),
        ("#define F(x) x\nF(\n  1)", "\n1"),
        ("#define F(x) #x\nF(a b)", "\n\"a b\""),
        ("#define J(a,b) a##b\nJ(0x, ff) J(N, 1)", "\n0xff N1"),
        ("#define G(x) x+1\n#define F(x) G(x)*2\nF(F(3))", "\n3+1*2+1*2"),
        ("#define F G\n#define G(x) [x]\nF(1)", "\n\n[1]"),
        ("#define X X+1\nX", "\nX+1"),
        ("#define V(...) [__VA_ARGS__]\nV(1,2,N) V()", "\n[1,2,7] []"),
        ("#define V(a, ...) a:__VA_ARGS__\nV(1) V(1, 2,3)", "\n1: 1:2,3"),
        ("#define V(a, more...) a, ## more\nV(1) V(1, 2,3)", "\n1 1,2,3"),
        ("#define V(...) #__VA_ARGS__\nV(a, b)", "\n\"a, b\""),
        ("#define V(a, ...) a __VA_OPT__(+ (__VA_ARGS__)) .\nV(1) V(1, 2)", "\n1  . 1 + (2) ."),
        ("#define MAC(n) 2,0,0,0,0,n\n{ MAC(1), MAC(N) }", "\n{ 2,0,0,0,0,1, 2,0,0,0,0,7 }"),
    ] {
        let (output, faults) = text(file);
        assert_eq!((output.trim(), faults), (expected.trim(), vec![]), "{file}");
    }
}

#[test]
fn shared_names_come_with_their_file_only() {
    assert_eq!(text("ETH_ALEN").0, "ETH_ALEN");
    for line in ["#include <stddef.h>", "#include \"stddef.h\" // names", "# include <stddef.h>"] {
        assert_eq!(text(&format!("{line}\nETH_ALEN ETH_SRC_RAND")).0, "\n6 drnd(6)", "{line}");
    }
}

#[test]
fn conditions_hide_and_keep_lines() {
    let file = "#ifdef N\n1\n#else\n2\n#endif\n#ifndef N\n3\n#endif\n4";
    assert_eq!(text(file).0, "\n1\n\n\n\n\n\n\n4");
    assert_eq!(text("#undef N\nN").0, "\nN");
    for (file, expected) in [
        ("#if 0\n1\n#else\n2\n#endif", "2"),
        ("#if N > 9\n1\n#elif N > 5\n2\n#elif 1\n3\n#else\n4\n#endif", "2"),
        ("#if defined(N) // yes\n1\n#if 0\n2\n#else\n3\n#endif\n#else\n4\n#endif", "1\n\n\n\n3"),
        ("#if 0\n#if nonsense (\n#error x\n#include <x>\n#else\n1\n#endif\n#endif\n5", "5"),
        ("#if 1\n1\n#elif 1 /\n2\n#endif", "1"),
    ] {
        let (output, faults) = text(file);
        assert_eq!((output.trim(), faults), (expected, vec![]), "{file}");
    }
}

#[test]
fn files_are_included_once_where_they_guard_themselves() {
    let reader = |include: Include<'_>| match (include.name, include.from) {
        ("a.h", None) => {
            let octets = b"#ifndef A\n#define A\n#include \"b.h\"\nX\n#endif\n".to_vec();
            Ok(IncludedFile { path: "lab/a.h".into(), octets })
        }
        ("b.h", Some("lab/a.h")) => {
            let octets = b"#define X c8(\n#if\n".to_vec();
            Ok(IncludedFile { path: "lab/b.h".into(), octets })
        }
        (name, from) => Err(format!("{name} from {from:?} is not there")),
    };
    let (output, faults) = text_with("#include \"a.h\"\n#include \"a.h\"\n#include <c.h>", &reader);
    assert_eq!(output.split_whitespace().collect::<String>(), "?c8(?");
    assert_eq!(
        faults,
        [
            "lab/b.h:2: a number or a name is missing in the condition, found the end",
            "lab/b.h:2: #if without #endif",
            "3: c.h from None is not there",
        ]
    );
    let itself = |_: Include<'_>| {
        Ok(IncludedFile { path: "x".into(), octets: b"#include \"x\"\n".to_vec() })
    };
    let (_, faults) = text_with("#include \"x\"", &itself);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("deep"), "{faults:?}");
}

#[test]
fn predefined_macros_are_those_of_gnu() {
    let include = |include: Include<'_>| match include.name {
        "b.h" => Ok(IncludedFile {
            path: "b.h".to_owned(),
            octets: b"__LINE__ __FILE__ __INCLUDE_LEVEL__ __COUNTER__\n".to_vec(),
        }),
        name => Err(format!("{name} is not there")),
    };
    // Each text, and what cpp of GCC 12 makes of a file `a.cfg` with it.
    for (file, expected) in [
        ("{ __LINE__,\n __LINE__ }", "{ 1, 2 }"),
        (
            "#define L __LINE__\n#define F(a,b) a b __LINE__ L\nF(__LINE__,\n__LINE__\n)\nL",
            "3 4 3 3 6",
        ),
        ("#line 40\n__LINE__ __FILE__", "40 \"a.cfg\""),
        (
            "#line 50 \"o.h\"\n__LINE__ __FILE__ __BASE_FILE__ __INCLUDE_LEVEL__",
            "50 \"o.h\" \"a.cfg\" 0",
        ),
        (
            "# 60 \"p.h\"\n__LINE__ __FILE__\n#include \"b.h\"\n__LINE__",
            "60 \"p.h\" 1 \"b.h\" 1 0 62",
        ),
        ("__COUNTER__\n#include \"b.h\"\n__COUNTER__", "0 1 \"b.h\" 1 1 2"),
        ("#define N 70\n#line N\n__LINE__ /* a\n b */ __LINE__", "70 /* a b */ 71"),
        ("\n#if __LINE__ == 2\nyes\n#endif", "yes"),
        ("#define S(x) #x\n#define T(x) S(x)\nT(__LINE__) S(__LINE__)", "\"3\" \"__LINE__\""),
        ("#if defined __FILE__ && defined(linux)\nX\n#endif", "X"),
        ("#undef __LINE__\n__LINE__ __STDC__ unix", "__LINE__ 1 1"),
        ("#if __has_include(\"b.h\") && !__has_include(<c.h>)\nX\n#endif", "X"),
        ("#define B \"b.h\"\n#include B", "1 \"b.h\" 1 0"),
        ("#if 0\n#elifdef N\n1\n#elifndef N\n2\n#endif", "1"),
        ("# 3 packets follow\n__LINE__", "2"),
    ] {
        let (output, faults) = text_with(file, &include);
        let output: Vec<&str> = output.split_whitespace().collect();
        assert_eq!((output.join(" ").as_str(), faults), (expected, vec![]), "{file}");
    }
    assert_eq!(text("#line x\n").1.len(), 1);
}

#[test]
fn lines_are_joined_before_anything_else() {
    for (file, expected) in [
        ("{ fill(1,30) \\\nfill(2,30) }", "{ fill(1,30)  fill(2,30) }"),
        ("#define A 7 /* of\ntwo lines */\nA", "\n7"),
        ("#define A 7 \\\r\n 8\nA", "\n7 8"),
        ("#define A \\\n 1, \\\n 2 // end\n{ A }", "\n{ 1, 2 }"),
        ("#if 1 /*\n*/ && 0\nno\n#endif", ""),
        ("\"a\nb\"", "\"a\nb\""),
    ] {
        let (output, faults) = text(file);
        assert_eq!((output.trim(), faults), (expected.trim(), vec![]), "{file}");
    }
}

#[test]
fn directives_with_mistakes_are_no_comments() {
    for (line, meant) in [
        ("#elseif 1", "elif"),
        ("#inculde \"x\"", "include"),
        ("#defin A", "define"),
        ("#endi", "endif"),
    ] {
        let expected = format!(
            "1: `{}` is unknown; did you mean `#{meant}`?",
            &line[..line.find(' ').unwrap_or(line.len())]
        );
        assert_eq!(text(line).1, [expected], "{line}");
    }
    for line in ["# elseif", "#pragma once", "#warning x", "#deny all", "#!/usr/sbin/trafgen", "#"]
    {
        assert_eq!(text(line).1, Vec::<String>::new(), "{line}");
    }
    assert_eq!(text("#if 0\n#elseif\n#endif").1, Vec::<String>::new());
}

#[test]
fn mistakes_are_named() {
    let file = "#include <x.h>\n#include x\n#define F(x\n#ifdef N\n# just a comment\n#else\n\
        #else\n#error no\n";
    let (_, faults) = text(file);
    assert_eq!(faults.len(), 5, "{faults:?}");
    let (_, faults) = text("#define F(x) x\nF(1, 2) F(");
    assert_eq!(faults.len(), 2, "{faults:?}");
    let (_, faults) = text("#endif\n#else\n#elif 1\n#error no");
    assert_eq!(faults.len(), 4, "{faults:?}");
    let endless = "#define A B B\n#define B C C\n#define C A A\nA";
    assert_eq!(text(endless).1, Vec::<String>::new());
    let doubled: String = (0..40).map(|n| format!("#define A{n} A{0} A{0}\n", n + 1)).collect();
    assert!(!text(&(doubled + "A0")).1.is_empty());
}
