import { problemIn } from "../expression/expression.ts";

const path = String.raw`[$_\p{L}][$\w]*(?:\.[$\w]+|\[\d+\])*`;
const placeholder = new RegExp(
  String.raw`(?<!\$)\{\{\s*(?<braces>${path})\s*(?:\|[^{}]*)?\}\}|\$\{\s*(?<dollar>${path})\s*\}`,
  "gu",
);

/** Inputs with code or the text of a file, where placeholders of other languages are common. */
const codeInputs: ReadonlySet<string> = new Set(
  [
    ...["argv", "cmd", "code", "command", "content", "pattern", "query", "regex", "script"],
    ...["newText", "new_string", "oldText", "old_string", "template"],
  ].map((name) => name.toLowerCase()),
);

const longestAdvice = 120;

/**
 * Returns a warning for a text that is probably meant as an expression, because it has a placeholder of another
 * template language or a space before the `=`. Returns null for any other text.
 *
 * @param field The path of the text from its step.
 * @param nameOf Returns the name in an expression for a placeholder's name; null for an unknown name.
 */
export function literalAdvice(
  text: string,
  field: readonly (string | number)[],
  nameOf: (name: string) => string | null,
): string | null {
  const [, source] = /^\s+=(?!=)(.*)$/s.exec(text) ?? [];
  if (source?.trim() && problemIn(source) === null) {
    return `the space before = makes this plain text; write =${shortened(source.trim())}`;
  }
  const isCode = field.some((part) => codeInputs.has(String(part).toLowerCase()));
  // Shells and JavaScript use ${x} too, and shell variables are in capitals.
  const isDollarMeant = (whole: string, head: string, name: string | null) =>
    isCode
      ? name !== null && (whole === text || head.startsWith("$"))
      : name !== null || /^[a-z]/.test(head);
  const found = Array.from(text.matchAll(placeholder)).flatMap((match) => {
    const { braces, dollar } = match.groups ?? {};
    const inner = braces ?? dollar ?? "";
    const [head = ""] = /^[^.[]+/.exec(inner) ?? [];
    const name = nameOf(head);
    if (braces !== undefined ? isCode && name === null : !isDollarMeant(match[0], head, name))
      return [];
    const expression = `${name ?? head}${inner.slice(head.length)}`;
    return [{ at: match.index, placeholder: match[0], expression }];
  });
  const [first] = found;
  if (!first) return null;
  return `${first.placeholder} stays as it is; write ${joined(text, found) ?? `an expression: ="…" + ${first.expression}`}`;
}

type Found = { at: number; placeholder: string; expression: string };

/** Returns the text as one expression; null if the expression would be too long or invalid. */
function joined(text: string, found: readonly Found[]): string | null {
  const parts: string[] = [];
  let end = 0;
  for (const { at, placeholder: whole, expression } of found) {
    if (at > end) parts.push(JSON.stringify(text.slice(end, at)));
    // Without a text operand, `+` would add two numbers.
    else if (parts.length === 0 && whole !== text) parts.push('""');
    parts.push(expression);
    end = at + whole.length;
  }
  if (end < text.length) parts.push(JSON.stringify(text.slice(end)));
  const source = parts.join(" + ");
  return source.length <= longestAdvice && problemIn(source) === null ? `=${source}` : null;
}

const shortened = (text: string): string =>
  text.length > longestAdvice ? `${text.slice(0, longestAdvice).toWellFormed()}…` : text;
