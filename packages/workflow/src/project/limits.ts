import { isPlainObject, kindOf, show } from "../contract/show.ts";
import type { RootLimits } from "../contract/spending.ts";
import { type DocumentProblem, locatedProblems, readDocument } from "../document/document.ts";
import { nearestName } from "../document/nearest.ts";
import type { DocumentPath } from "../document/text.ts";
import { readTextFile } from "./text-file.ts";
import { limitsInvalid } from "./errors.ts";

const names = ["costPerDay", "costPerMonth"] as const;
const code = "CONFIG_INVALID";

/** Returns all problems of the `limits` of a file. */
export function limitsProblems(limits: unknown): DocumentProblem[] {
  const path = ["limits"];
  if (!isPlainObject(limits)) return mustBe("an object", limits, path);
  return Object.entries(limits).flatMap(([name, amount]) => {
    const at = [...path, name];
    if (!names.some((known) => known === name)) return unknownKey(name, names, at);
    const isAmount = typeof amount === "number" && Number.isFinite(amount) && amount > 0;
    return isAmount ? [] : mustBe("US dollars above 0, such as 20", amount, at);
  });
}

/** The limits that a file sets. */
export type FileLimits = { file: string; limits: RootLimits };

/** Combines limits: takes the lowest limit of each kind. */
export const stricter = (all: readonly FileLimits[]): RootLimits =>
  Object.fromEntries(
    names.flatMap((name) => {
      const given = all.flatMap(({ limits }) => limits[name] ?? []);
      return given.length === 0 ? [] : [[name, Math.min(...given)]];
    }),
  );

/**
 * Reads the limits in a storage root's settings, `config.json`.
 * @throws WorkflowError `CONFIG_INVALID` with file, line and column; the errors of the disk
 */
export function readRootLimits(file: string): RootLimits {
  const text = readTextFile(file);
  if (text === null) return {};
  const { document, positionOf } = readDocument(text, file, code);
  const problems = configProblems(document);
  const details = locatedProblems(problems, file, positionOf);
  if (details.length === 0) return (document as { limits?: RootLimits }).limits ?? {};
  throw limitsInvalid(details);
}

function configProblems(document: unknown): DocumentProblem[] {
  if (!isPlainObject(document)) return mustBe("an object", document, []);
  const unknown = Object.keys(document).filter((key) => key !== "limits");
  return [
    ...unknown.flatMap((key) => unknownKey(key, ["limits"], [key])),
    ...(document.limits === undefined ? [] : limitsProblems(document.limits)),
  ];
}

function unknownKey(key: string, known: readonly string[], path: DocumentPath): DocumentProblem[] {
  const nearest = nearestName(key, [...known]);
  const advice = nearest === null ? `use ${known.join(" or ")}` : `did you mean ${nearest}?`;
  return [{ path, message: `unknown key ${show(key)}; ${advice}` }];
}

function mustBe(what: string, value: unknown, path: DocumentPath): DocumentProblem[] {
  const named = path.length === 0 ? "the file" : show(path.join("."));
  const found =
    typeof value === "string" ? show(value) : typeof value === "number" ? value : kindOf(value);
  return [{ path, message: `${named} must be ${what}, not ${found}` }];
}
