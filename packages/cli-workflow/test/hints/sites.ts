import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const top = join(import.meta.dir, "../../../..");

/** A text in the sources that names a command of this program. Hints with the same words count once. */
export type Site = {
  file: string;
  /** The text, with `…` for its variable parts. */
  text: string;
  /** Number of its fixed characters. */
  weight: number;
  pattern: RegExp;
};

type Part = string | null;

/** Help texts with commands, which are not hints. */
const ofHelp = new Set(["examples", "description", "title"]);

/** Returns every text in the sources that names a command, except the examples in help texts. */
export function sites(): Site[] {
  const found = new Map<string, Site>();
  for (const file of new Bun.Glob("{packages,apps}/*/src/**/*.{ts,tsx}").scanSync(top)) {
    if (/\.test\.tsx?$/.test(file)) continue;
    const source = readFileSync(join(top, file), "utf8");
    if (!source.includes("uncaged-workflow ")) continue;
    for (const parts of textsOf(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true))) {
      const text = parts.map((part) => part ?? "…").join("");
      const given = text.trim().split("…").map(escaped).join("[^\\n]*?");
      const weight = parts.join("").length;
      found.set(text, { file, text, weight, pattern: new RegExp(given, "g") });
    }
  }
  return [...found.values()].sort((a, b) => b.weight - a.weight);
}

/** Escapes a text for a regular expression; the word ID matches any id. */
const escaped = (text: string) =>
  text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\bID\b/g, "[^\\n]*?");

function textsOf(source: ts.SourceFile): Part[][] {
  const constants = new Map<string, Part[]>();
  const texts: Part[][] = [];
  const used = new Set<string>();
  const partsOf = (node: ts.Node): Part[] | null => {
    if (ts.isStringLiteralLike(node)) return [node.text];
    if (ts.isIdentifier(node) && constants.has(node.text)) {
      used.add(node.text);
      return constants.get(node.text) ?? null;
    }
    if (!ts.isTemplateExpression(node)) return null;
    const spans = node.templateSpans.flatMap(({ expression, literal }) => [
      ...(partsOf(expression) ?? [null]),
      literal.text,
    ]);
    return [node.head.text, ...spans];
  };
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && ofHelp.has(node.name.getText())) return;
    const parts = ts.isIdentifier(node) ? null : partsOf(node);
    if (parts?.join("").includes("uncaged-workflow ")) {
      const { parent } = node;
      if (ts.isVariableDeclaration(parent)) constants.set(parent.name.getText(), parts);
      texts.push(parts);
    } else node.forEachChild(visit);
  };
  visit(source);
  const parts = new Set([...used].map((name) => constants.get(name)));
  return texts.filter((text) => !parts.has(text));
}
