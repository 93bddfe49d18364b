/** The keys and indexes that lead from the document to a place in it. */
export type FaultPath = readonly (string | number)[];

/**
 * What is wrong with a document, or (a warning) may be meant otherwise. `message` is one line and begins
 * with the step's id where there is one; `path` leads from the document to the place.
 */
export type Fault = {
  severity: "error" | "warning";
  stepID: string | null;
  path: (string | number)[];
  message: string;
};

/** Where faults are told. */
export type Report = {
  error: (path: FaultPath, text: string) => void;
  warning: (path: FaultPath, text: string) => void;
};

const longest = 60;

/** A report that adds to `faults`. Its paths begin at `home`; `label` is what a message begins with. */
export function reportTo(
  faults: Fault[],
  home: FaultPath = [],
  stepID: string | null = null,
  label: string | null = stepID,
): Report {
  const add = (severity: Fault["severity"], path: FaultPath, text: string) => {
    const line = text.replace(/[\p{Cc}\u2028\u2029]/gu, "?");
    const message = label === null ? line : `${labelOf(label)}: ${line}`;
    faults.push({ severity, stepID, path: [...home, ...path], message });
  };
  return {
    error: (path, text) => add("error", path, text),
    warning: (path, text) => add("warning", path, text),
  };
}

/** A value in a message: a short text in quotes, a number, or what it is. */
export function shown(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** A text in quotes, on one line, shortened when it is long. */
export function quoted(text: string): string {
  const part = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return JSON.stringify(part.toWellFormed()).replace(/[\p{Cc}\u2028\u2029]/gu, "?");
}

/** A path as people write it: `in.messages[0].content`. */
export function showPath(path: FaultPath): string {
  const parts = path.map((part) => {
    if (typeof part === "number") return `[${part}]`;
    return /^[\w$]{1,60}$/.test(part) ? `.${part}` : `[${quoted(part)}]`;
  });
  return parts.join("").replace(/^\./, "");
}

function labelOf(label: string): string {
  const isPlain = label.length <= 200 && !/[\p{Cc}\u2028\u2029]/u.test(label);
  return isPlain ? label.toWellFormed() : quoted(label);
}
