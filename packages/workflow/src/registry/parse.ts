import type { Node, Pair, ParsedNode, YAMLError, YAMLMap } from "yaml";
import { isWorkflowError, messageOf } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { checkWorkflowName } from "../storage/paths.ts";
import {
  isTimestamp,
  isVersionHash,
  type Registry,
  type Version,
  type Workflow,
} from "./registry.ts";

/** Where a registry is wrong, counted from 1. */
export type SyntaxViolation = { line: number; column: number; reason: string };

/**
 * A registry as it was read. `unknown` is the first key that this version does not know: the file may
 * be read, but writing it again would lose it.
 */
export type Parsed =
  | { kind: "registry"; registry: Registry; unknown: SyntaxViolation | null }
  | { kind: "broken"; violation: SyntaxViolation };

/** The longest text that the YAML library is given, in characters: it needs seconds for more. */
export const maxYamlLength = 2 * 1024 * 1024;

type Yaml = typeof import("yaml");

const tooDeep = "it is nested too deeply";

class Refusal extends Error {
  constructor(
    readonly offset: number,
    reason: string,
  ) {
    super(reason);
  }
}

/** Reads a registry in any form that YAML 1.2 has, less aliases and tags. Loads the YAML library. */
export async function parseRegistry(text: string): Promise<Parsed> {
  const yaml = await import("yaml");
  try {
    return parse(yaml, text);
  } catch (error) {
    if (error instanceof RangeError)
      return { kind: "broken", violation: violationAt(text, 0, tooDeep) };
    if (!(error instanceof Refusal)) throw error;
    return { kind: "broken", violation: violationAt(text, error.offset, error.message) };
  }
}

function parse(yaml: Yaml, text: string): Parsed {
  if (text.trim() === "") throw new Refusal(0, "the file is empty");
  if (text.includes("\0")) throw new Refusal(text.indexOf("\0"), "there is a NUL byte");
  const document = yaml.parseDocument(text, {
    prettyErrors: false,
    strict: true,
    uniqueKeys: false,
    stringKeys: true,
  });
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem) throw new Refusal(problem.pos[0], sentence(problem));
  if (/[0-9]$/.test(text)) {
    throw new Refusal(
      text.length - 1,
      "the last line has no end, so the file may have been truncated",
    );
  }
  const reader = new Reader(yaml);
  const registry = reader.registry(document.contents);
  const { unknown } = reader;
  return {
    kind: "registry",
    registry,
    unknown: unknown && violationAt(text, unknown.offset, unknown.message),
  };
}

function sentence({ code, message }: YAMLError): string {
  if (code === "MULTIPLE_DOCS") return "a second document begins here";
  return message.startsWith("Maximum call stack") ? tooDeep : messageOf(message);
}

function violationAt(text: string, offset: number, reason: string): SyntaxViolation {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1, reason };
}

class Reader {
  unknown: Refusal | null = null;

  constructor(private readonly yaml: Yaml) {}

  registry(node: ParsedNode | null): Registry {
    const top = this.fields(node, 0, "the registry", ["workflows"]);
    const workflows = this.map(top.get("workflows"), 0, "workflows");
    const registry = new Map<string, Workflow>();
    for (const pair of workflows.items) {
      const name = this.name(pair);
      registry.set(name, this.workflow(name, pair));
    }
    return registry;
  }

  private workflow(name: string, pair: Pair): Workflow {
    const at = offsetOf(pair.key);
    const fields = this.fields(pair.value, at, name, ["hash", "timestamp", "history"]);
    const current = this.version(fields, at, name);
    const list = fields.get("history");
    if (!this.yaml.isSeq(list)) {
      throw new Refusal(offsetOf(list, at), `${name} has no list "history"`);
    }
    const seen = new Set([current.hash]);
    const history = list.items.map((item): Version => {
      const offset = offsetOf(item, at);
      const what = `a version in the history of ${name}`;
      const version = this.version(
        this.fields(item, offset, what, ["hash", "timestamp"]),
        offset,
        what,
      );
      if (seen.has(version.hash)) throw new Refusal(offset, `${name} has ${version.hash} twice`);
      seen.add(version.hash);
      return version;
    });
    return { ...current, history };
  }

  private version(fields: Map<string, unknown>, at: number, what: string): Version {
    const [hash, timestamp] = [fields.get("hash"), fields.get("timestamp")];
    const hashValue = this.scalar(hash);
    if (typeof hashValue !== "string" || !isVersionHash(hashValue)) {
      const quote = typeof hashValue === "number" ? ": put it in quotes" : "";
      throw new Refusal(offsetOf(hash, at), `the hash of ${what} is no bundle hash${quote}`);
    }
    const timestampValue = this.scalar(timestamp);
    if (!isTimestamp(timestampValue)) {
      const reason = `the timestamp of ${what} is no number of milliseconds`;
      throw new Refusal(offsetOf(timestamp, at), reason);
    }
    return { hash: hashValue, timestamp: timestampValue };
  }

  private name(pair: Pair): string {
    const name = this.scalar(pair.key);
    try {
      return checkWorkflowName(typeof name === "string" ? name : String(name));
    } catch (error) {
      throw isWorkflowError(error) ? new Refusal(offsetOf(pair.key), error.message) : error;
    }
  }

  /** The values of a map by key; a key that is not in `known` is noted. */
  private fields(node: unknown, at: number, what: string, known: string[]): Map<string, unknown> {
    const fields = new Map<string, unknown>();
    for (const pair of this.map(node, at, what).items) {
      const key = String(this.scalar(pair.key));
      fields.set(key, pair.value);
      if (!known.includes(key)) {
        this.unknown ??= new Refusal(
          offsetOf(pair.key, at),
          `${show(key)} in ${what} is not known`,
        );
      }
    }
    return fields;
  }

  private map(node: unknown, at: number, what: string): YAMLMap {
    if (this.yaml.isMap(node)) return this.withoutRepeats(node);
    if (this.yaml.isAlias(node))
      throw new Refusal(offsetOf(node, at), "an alias is not allowed here");
    throw new Refusal(offsetOf(node, at), `${what} is no map of keys and values`);
  }

  // The library looks for repeated keys too, but in a time that grows with their number squared.
  private withoutRepeats(map: YAMLMap): YAMLMap {
    const seen = new Set<unknown>();
    for (const { key } of map.items) {
      const value = this.scalar(key);
      if (seen.has(value))
        throw new Refusal(offsetOf(key), `${show(String(value))} is there twice`);
      seen.add(value);
    }
    return map;
  }

  private scalar(node: unknown): unknown {
    return this.yaml.isScalar(node) ? node.value : undefined;
  }
}

function offsetOf(node: unknown, otherwise = 0): number {
  return (node as Partial<Node> | null | undefined)?.range?.[0] ?? otherwise;
}
