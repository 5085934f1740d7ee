//! Pages at the widths of a phone and of a desktop screen.

/// Returns a probe for [`super::browser::browse`] that lays the page out at 360 and at 1,280
/// pixels, and leaves the values that the function `see(page, view)` of `script` returns at each
/// width.
pub(crate) fn at_both(script: &str) -> String {
    format!("{script}{LOOK}")
}

const LOOK: &str = r##"
const seen = {};
const look = (width, then) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  frame.onload = () => {
    seen[width] = see(frame.contentDocument, frame.contentWindow);
    frame.remove();
    then();
  };
  frame.srcdoc = page;
  document.body.append(frame);
};
look(360, () => look(1280, () => {
  document.body.innerHTML = "";
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
}));
"##;
