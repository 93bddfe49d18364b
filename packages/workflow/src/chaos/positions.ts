/** A source file: its path as shown, and its text. */
export type SourceFile = { file: string; text: string };

/**
 * Returns the position of a role in the author's sources, as `file:line:column`; null when none is found. It looks for
 * the step or the role's definition by name, so a role with a computed name has no position.
 */
export function rolePosition(sources: readonly SourceFile[], role: string): string | null {
  const name = role.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const quoted = `(["'\`])${name}\\1`;
  const key = `(?<![\\w$.-])(?:${quoted}|${name})\\s*`;
  const patterns = [
    `\\brole:\\s*(${quoted.replace("\\1", "\\2")})`,
    `\\w\\(\\s*${quoted}\\s*,`,
    `\\b(?:const|let|var)\\s+${name}\\s*[:=]`,
    `\\bfunction\\*?\\s+${name}\\s*\\(`,
    `(?<![\\w$.-])(?:async\\s+)?${name}\\s*\\([^)]*\\)\\s*\\{`,
    `${key}:\\s*(?:async\\b|\\(|function\\b|[\\w$.]+\\()`,
    `"(?:id|stepID|name)"\\s*:\\s*"${name}"`,
    quoted,
    `${key}:`,
  ].map((pattern) => new RegExp(pattern, "g"));
  for (const pattern of patterns) {
    for (const { file, text } of sources) {
      const found = matchIn(pattern, text);
      if (found === null) continue;
      const before = text.slice(0, found);
      const line = before.split("\n").length;
      return `${file}:${line}:${found - before.lastIndexOf("\n")}`;
    }
  }
  return null;
}

/** Returns the index of the first match outside of comments; null when there is none. */
function matchIn(pattern: RegExp, text: string): number | null {
  for (const { index } of text.matchAll(pattern)) {
    const line = text.slice(text.lastIndexOf("\n", index) + 1, index);
    if (!/^\s*(\/\/|\/?\*)/.test(line)) return index;
  }
  return null;
}
