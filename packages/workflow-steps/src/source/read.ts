import { WorkflowError } from "@uncaged/workflow";
import { readJson } from "./json.ts";
import { Lines, type Position } from "./position.ts";
import { type Path, type Read, Unreadable } from "./text.ts";
import { readYaml } from "./yaml.ts";

/**
 * The most characters of a text. The YAML library needs seconds for more than it may have; what is
 * larger can be JSON.
 */
const longest = { JSON: 10 * 1024 * 1024, YAML: 2 * 1024 * 1024 };

/**
 * The document that a text holds, and where in the text its parts stand. `file` is named in messages,
 * and is YAML when its name ends in `.yaml` or `.yml`, else JSON. What the document says is not checked.
 *
 * `positionOf` gives, for a place that the document does not have, that of what it would stand in.
 * @throws WorkflowError `STEPS_INVALID`, with line and column: a text that is neither, keys that stand
 *   twice, more than 500 levels, more than 10 Mi characters (2 Mi of YAML).
 * @example readDocument('{"steps": []}', "flow.json").positionOf(["steps"]) // { line: 1, column: 11 }
 */
export function readDocument(
  text: string,
  file: string,
): { document: unknown; positionOf: (path: Path) => Position } {
  const kind = /\.ya?ml$/i.test(file) ? "YAML" : "JSON";
  const lines = new Lines(text);
  try {
    const { value, offsetOf } = read(text, kind, lines);
    return { document: value, positionOf: (path) => lines.at(offsetOf(path)) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const { line, column } = lines.at(error.offset);
    throw new WorkflowError({
      code: "STEPS_INVALID",
      kind: "failed",
      message: `${file}:${line}:${column}: ${error.message}`,
      hint: `mend the file: it must be one ${kind} document`,
    });
  }
}

function read(text: string, kind: keyof typeof longest, lines: Lines): Read {
  if (text.length > longest[kind]) {
    const limit = `${longest[kind] / 1024 / 1024} Mi characters`;
    throw new Unreadable(0, `the file is too large: ${kind} may have at most ${limit}`);
  }
  // The mark of UTF-8, and a space in its place so that the offsets stay.
  const plain = text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text;
  if (plain.trim() === "") throw new Unreadable(0, "the file is empty");
  return kind === "YAML" ? readYaml(plain, lines) : readJson(plain, lines);
}
