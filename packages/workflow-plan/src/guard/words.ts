import { forEachChild, type SyntaxNode, type Word, type WordPart } from "unbash";
import { unknown } from "./paths.ts";

/** A word after expansion. `splits` tells whether it may become several words, or none. */
export type Field = { text: string; source: string; splits: boolean };

export type Variables = ReadonlyMap<string, Field>;

export const literal = (text: string): Field => ({ text, source: text, splits: false });
export const isUnknown = ({ splits, text }: Field): boolean => splits || text.includes(unknown);

type Text = Pick<Word, "text" | "parts"> & { value?: string };

/** Expands a word, or the body of a here-document. Patterns, braces and most substitutions are unknown. */
export function expand(word: Text, variables: Variables, isQuoted = false): Field {
  const field = { ...literal(""), source: word.text };
  const whole = [{ type: "Literal" as const, value: word.value ?? word.text }];
  for (const part of word.parts ?? whole) add(field, part, variables, isQuoted);
  const [tilde] = (!isQuoted && /^~[\w.+-]*(?=\/|$)/.exec(word.text)) || [];
  if (tilde !== undefined) {
    const home = /^~[+-]/.test(tilde) ? unknown : (variables.get("HOME")?.text ?? unknown);
    field.text = home + field.text.slice(tilde.length);
  }
  return field;
}

type Part = WordPart | { type: "Literal"; value: string };

function add(field: Field, part: Part, variables: Variables, isQuoted: boolean): void {
  switch (part.type) {
    case "Literal":
    case "Glob":
    case "SingleQuoted":
    case "AnsiCQuoted":
      field.text += part.value;
      return;
    case "DoubleQuoted":
    case "LocaleString":
      for (const inner of part.parts) add(field, inner, variables, true);
      return;
    case "ArithmeticExpansion":
    case "ProcessSubstitution":
      field.text += unknown;
      return;
    default:
  }
  const value = valueOf(part, variables);
  field.text += value?.text ?? unknown;
  field.splits ||= !isQuoted && (value === undefined || isUnknown(value) || /\s/.test(value.text));
}

function valueOf(part: WordPart, variables: Variables): Field | undefined {
  if (part.type === "SimpleExpansion") return variables.get(part.text.slice(1));
  if (part.type === "ParameterExpansion" && !(part.prefix ?? part.index ?? part.operation))
    return variables.get(part.parameter);
  if (part.type !== "CommandExpansion") return undefined;
  const [first, ...others] = part.script?.commands ?? [];
  const isTemporary = first?.command.type === "Command" && first.command.name?.text === "mktemp";
  return isTemporary && others.length === 0 ? literal("/tmp/mktemp") : undefined;
}

/** Counts how often a script assigns each name or passes it as an argument that a builtin may assign. */
export function namesIn(script: SyntaxNode): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const words: string[] = [];
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const visit = (node: SyntaxNode): void => {
    if (node.type === "Assignment") count(node.name);
    if (node.type === "ParameterExpansion" && node.operation?.type === "Default")
      count(node.parameter);
    if (node.type === "Word" || node.type === "ArithmeticWord") {
      words.push(node.value);
      count(node.value);
      if (/^-\w./.test(node.value)) count(node.value.slice(2));
    }
    forEachChild(node, visit);
  };
  visit(script);
  // `trap` and `alias` execute the code in their arguments.
  if (!counts.has("trap") && !counts.has("alias")) return counts;
  for (const word of words) {
    const names = word.matchAll(/(?<!\$\{?)\b([A-Za-z_]\w*)|\$\{(\w+):?=/g);
    for (const [, plain, assigned] of names) count(plain ?? assigned ?? "");
  }
  return counts;
}
