import type { Import } from "es-module-lexer";
import { messageOf } from "../contract/error.ts";
import { isBuiltin } from "./builtins.ts";
import { positionIn, syntaxPlace } from "./module.ts";
import type { SourceMap } from "./source-map.ts";
import { exportsOf, lexModule, positionOf } from "./syntax.ts";
import { bundleRefused } from "./errors.ts";

/** A rule for a bundle's code. */
export type Rule =
  | "utf-8"
  | "syntax"
  | "no-dynamic-import"
  | "no-require"
  | "builtins-only"
  | "no-default-export"
  | "named-exports";

/** One breach of a rule. `line` and `column` count from 1, columns in UTF-16 code units. */
export type Finding = { rule: Rule; message: string; file: string; line: number; column: number };

/**
 * Returns the breaches of rules in a bundle's bytes, in order of position; empty for a valid bundle.
 *
 * Never runs the bundle, and never throws.
 */
export function checkBytes(bytes: Uint8Array, file: string): Finding[] {
  const source = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const bad = firstDifference(bytes, new TextEncoder().encode(source));
  if (bad === -1) return checkSource(source, file);
  const before = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, bad));
  const message = `byte ${bad} is not valid UTF-8`;
  return [{ rule: "utf-8", message, file, ...positionOf(before, before.length) }];
}

/** Returns the breaches like {@link checkBytes}, for a decoded source. */
export function checkSource(source: string, file: string): Finding[] {
  try {
    const names = exportsOf(source);
    const breaches = breachesIn(source, names).toSorted((a, b) => a.offset - b.offset);
    return breaches.map(({ rule, message, offset }) => {
      return { rule, message, file, ...positionOf(source, offset) };
    });
  } catch (error) {
    return [syntaxFinding(error, file)];
  }
}

type Breach = { rule: Rule; message: string; offset: number };

function breachesIn(source: string, names: readonly string[]): Breach[] {
  const { imports, exports } = lexModule(source);
  const found = imports.flatMap((each) => breachOf(each) ?? []);
  for (const each of exports) {
    if (each.type === "reexport-all" || each.name !== "default") continue;
    const isListed = source.slice(each.exportStart, each.start).includes("{");
    found.push({
      rule: "no-default-export",
      message: "default export not allowed: export run and descriptor by name",
      offset: isListed ? each.start : each.exportStart,
    });
  }
  // `export * from` a built-in module may export any name: `toBundle` checks the names after loading.
  if (exports.some(({ type }) => type === "reexport-all")) return found;
  for (const name of ["run", "descriptor"]) {
    if (names.includes(name)) continue;
    found.push({ rule: "named-exports", message: `missing export ${name}`, offset: source.length });
  }
  return found;
}

function breachOf({ type, specifier, importStart, start }: Import): Breach | null {
  if (type === "import-meta") return null;
  if (type === "dynamic") {
    const message = "import() is not allowed: import at the top, and bundle the imported module";
    return { rule: "no-dynamic-import", message, offset: importStart };
  }
  if (isBuiltin(specifier)) return null;
  const what = /^bun(:|$)/.test(specifier) ? "only Bun has" : "is not a Node built-in";
  const message = `imports ${JSON.stringify(specifier)}, which ${what}`;
  // `start` is after the opening quote.
  return { rule: "builtins-only", message, offset: start - 1 };
}

function syntaxFinding(thrown: unknown, file: string): Finding {
  const error = thrown instanceof AggregateError ? (thrown.errors[0] as unknown) : thrown;
  const position = syntaxPlace(error) ?? { line: 1, column: 1 };
  return { rule: "syntax", message: messageOf(error), file, ...position };
}

/**
 * Refuses a bundle with findings. `map` is its source map if the bundle was built from a source.
 *
 * @throws WorkflowError `BUNDLE_REFUSED`.
 */
export function refuse(findings: readonly Finding[], file: string, map?: SourceMap): void {
  if (findings.length === 0) return;
  throw bundleRefused(
    findings.map((finding) => {
      // The author can't use lines of built code: show the source's line, or only the file.
      const at = map && !map.original(finding) ? file : positionIn(file, finding, map);
      return `${at}: ${finding.message} (${finding.rule})`;
    }),
  );
}

function firstDifference(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) if (a[at] !== b[at]) return at;
  return a.length === b.length ? -1 : length;
}
