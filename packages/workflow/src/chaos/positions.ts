/** A source file: its path as shown, and its text. */
export type SourceFile = { file: string; text: string };

/**
 * Returns the position of a role in the author's sources, as `file:line:column`; null if it is not found. Searches for
 * the step or the role's definition by name, so it does not find a role with a computed name.
 */
export function rolePosition(sources: readonly SourceFile[], role: string): string | null {
  const name = role.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const quoted = `["'\`]${name}["'\`]`;
  const word = `(?<![\\w$.-])${name}`;
  return firstOf(sources, [
    `\\brole:\\s*${quoted}`,
    `\\w\\(\\s*${quoted}\\s*,`,
    `\\b(?:const|let|var)\\s+${name}\\s*[:=]`,
    `\\bfunction\\*?\\s+${name}\\s*\\(`,
    `${word}\\s*\\([^)]*\\)\\s*\\{`,
    `(?:${quoted}|${word})\\s*:\\s*(?:async\\b|\\(|function\\b|[\\w$.]+\\()`,
    `"(?:id|stepID|name)"\\s*:\\s*"${name}"`,
    quoted,
    `${word}\\s*:`,
  ]);
}

/** Returns the position of the moderator that chooses the roles; null if it is not found. */
export const moderatorPosition = (sources: readonly SourceFile[]): string | null =>
  matchIn(sources.filter(isOwn), ["(?<![\\w$.-])moderator\\s*(?:\\([^)]*\\)\\s*\\{|:)"]);

/** Returns the position of the workflow's `run`; null if it is not found. */
export const runPosition = (sources: readonly SourceFile[]): string | null =>
  matchIn(sources.filter(isOwn), ["\\bexport\\s+(?:const|async\\s+function\\*?)\\s*run\\b"]);

/** Returns whether a source is in the author's own folder. */
const isOwn = ({ file }: SourceFile): boolean => !/^\.\.|(^|\/)node_modules\//.test(file);

/**
 * Returns the position of the first pattern that matches outside of comments. Searches the author's own folder first.
 */
function firstOf(sources: readonly SourceFile[], patterns: readonly string[]): string | null {
  const others = sources.filter((one) => !isOwn(one) && !one.file.includes("node_modules/"));
  return matchIn(sources.filter(isOwn), patterns) ?? matchIn(others, patterns);
}

function matchIn(sources: readonly SourceFile[], patterns: readonly string[]): string | null {
  for (const pattern of patterns) {
    for (const { file, text } of sources) {
      for (const { index } of text.matchAll(new RegExp(pattern, "g"))) {
        const before = text.slice(0, index);
        const start = before.lastIndexOf("\n") + 1;
        if (/^\s*(\/\/|\/?\*)/.test(text.slice(start, index + 1))) continue;
        return `${file}:${before.split("\n").length}:${index - start + 1}`;
      }
    }
  }
  return null;
}
