import type { StepContext } from "@uncaged/workflow";
import { counted } from "./counted.ts";
import { git } from "./git.ts";
import type { HotSpot } from "./plan.ts";

/** A finding. Urgent findings should be fixed before the next release. */
export type Finding = { line: number; what: string; urgent: boolean };
export type Reading = { path: string; lines: number; findings: Finding[] };

const longFile = 400;
const longFunction = 60;
const mostOfAKind = 5;

type Rule = { pattern: RegExp; urgent: boolean; what: (text: string) => string };

const rules: Rule[] = [
  {
    pattern: /^(?:<{7}|>{7}) (.*)/,
    urgent: true,
    what: (branch) => `a merge conflict with ${branch} was committed`,
  },
  {
    pattern:
      /-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_\w{36}|glpat-[\w-]{20}|xox[abps]-[\w-]{20,}|sk-ant-[\w-]{20,})/,
    urgent: true,
    what: () => "looks like a secret: revoke it, because it stays in the history",
  },
  {
    pattern: /(?:^|[^\w])(?:describe|it|test)\.(only|skip)\(/,
    urgent: false,
    what: (how) =>
      how === "only" ? "keeps all other tests from running" : "a test is switched off",
  },
  {
    pattern: /(?:\/\/|#|\/\*|^\s*\*|<!--|--|;)\s*((?:TODO|FIXME|XXX|HACK)\b.*)/,
    urgent: false,
    what: (text) => `left open: ${text}`,
  },
];

/** Reads one file of the reviewed commit and returns findings for a person. */
export async function readFile(
  { path, blob, changes, tested }: HotSpot,
  here: StepContext,
): Promise<{ content: string; meta: Reading }> {
  const text = await git(here, "cat-file", "blob", blob);
  const lines = text.includes("\0") ? [] : text.replace(/\n$/, "").split(/\r?\n/);
  const findings = [...lineFindings(lines), ...shapeFindings(lines)];
  if (!tested && isCode(path)) {
    findings.push({
      line: 1,
      what: `changed ${counted(changes, "time")}, and no test has its name`,
      urgent: false,
    });
  }
  findings.sort((a, b) => a.line - b.line);
  const content = `${counted(findings.length, "finding")} in ${path}, ${counted(lines.length, "line")}`;
  return { content, meta: { path, lines: lines.length, findings } };
}

const isCode = (path: string): boolean =>
  /\.(?:[cm]?[jt]sx?|py|go|java|kt|c|cc|cpp|cs|rb|php|swift|scala)$/.test(path) &&
  !path.endsWith(".d.ts");

function lineFindings(lines: string[]): Finding[] {
  return rules.flatMap(({ pattern, urgent, what }) =>
    lines
      .flatMap((text, index) => {
        const found = pattern.exec(text);
        return found ? [{ line: index + 1, what: plain(what(found[1] ?? "")), urgent }] : [];
      })
      .slice(0, mostOfAKind),
  );
}

function shapeFindings(lines: string[]): Finding[] {
  const found: Finding[] = [];
  if (lines.length > longFile) {
    found.push({
      line: 1,
      what: `${lines.length} lines: which part can stand alone?`,
      urgent: false,
    });
  }
  for (const [index, text] of lines.entries()) {
    if (!isFunctionHead(text)) continue;
    const length = blockLength(lines, index);
    if (length > longFunction) {
      found.push({ line: index + 1, what: `a function of ${length} lines`, urgent: false });
    }
  }
  return found;
}

// Matches the shape, not the grammar: in most languages, parentheses come before the opening of a block.
function isFunctionHead(line: string): boolean {
  if (
    /^\s*(?:[}#*/]|(?:if|for|while|switch|match|with|class|catch|describe|test|it)\b)/.test(line)
  ) {
    return false;
  }
  return /\)[^;]*[{:]$/.test(line);
}

function blockLength(lines: string[], start: number): number {
  const indent = indentOf(lines[start] ?? "");
  let end = start + 1;
  while (end < lines.length && (lines[end]?.trim() === "" || indentOf(lines[end] ?? "") > indent))
    end += 1;
  return end - start;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

const plain = (text: string): string =>
  text
    .replace(/[`|\s]+/g, " ")
    .trim()
    .slice(0, 120);
