import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type YAMLError } from "yaml";
import { messageOf } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { checkRegisteredName } from "../contract/names.ts";
import {
  isTimestamp,
  isVersionHash,
  type Registry,
  type Version,
  type Workflow,
} from "./registry.ts";

/** What is wrong in a registry, and where, counted from 1. */
export class SyntaxViolation extends Error {
  constructor(
    readonly line: number,
    readonly column: number,
    readonly reason: string,
  ) {
    super(reason);
  }
}

/**
 * A registry as it was read. `unknown` is the first key that this version does not know: the file may
 * be read, but writing it again would lose it.
 */
export type Parsed = { registry: Registry; unknown: SyntaxViolation | null };

const tooDeep = "it is nested too deeply";

/** Reads a registry in any form that YAML 1.2 has, less aliases and tags. @throws SyntaxViolation */
export function parseRegistry(text: string): Parsed {
  const reader = new Reader(text);
  try {
    return { registry: reader.read(), unknown: reader.unknown };
  } catch (error) {
    throw error instanceof RangeError ? reader.violation(0, tooDeep) : error;
  }
}

function sentence({ code, message }: YAMLError): string {
  if (code === "MULTIPLE_DOCS") return "a second document begins here";
  return message.startsWith("Maximum call stack") ? tooDeep : messageOf(message);
}

/** The values of a map by key, and where each key is. */
type Entries = Map<string, { value: unknown; at: number }>;

class Reader {
  unknown: SyntaxViolation | null = null;

  constructor(private readonly text: string) {}

  violation(offset: number, reason: string): SyntaxViolation {
    const lines = this.text.slice(0, offset).split("\n");
    return new SyntaxViolation(lines.length, (lines.at(-1)?.length ?? 0) + 1, reason);
  }

  read(): Registry {
    const { text } = this;
    if (text.trim() === "") throw this.violation(0, "the file is empty");
    if (text.includes("\0")) throw this.violation(text.indexOf("\0"), "there is a NUL byte");
    const document = parseDocument(text, {
      prettyErrors: false,
      strict: true,
      uniqueKeys: false,
      stringKeys: true,
    });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem) throw this.violation(problem.pos[0], sentence(problem));
    if (/[0-9]$/.test(text)) {
      const reason = "the last line has no end, so the file may have been truncated";
      throw this.violation(text.length - 1, reason);
    }
    const top = this.fields(document.contents, 0, "the registry", ["workflows"]);
    const registry = new Map<string, Workflow>();
    for (const [name, { value, at }] of this.entries(top.get("workflows")?.value, 0, "workflows")) {
      try {
        checkRegisteredName(name);
      } catch (error) {
        throw this.violation(at, messageOf(error));
      }
      registry.set(name, this.workflow(name, value, at));
    }
    return registry;
  }

  private workflow(name: string, node: unknown, at: number): Workflow {
    const fields = this.fields(node, at, name, ["hash", "timestamp", "history"]);
    const current = this.version(fields, at, name);
    const list = fields.get("history")?.value;
    if (!isSeq(list)) {
      throw this.violation(offsetOf(list, at), `${name} has no list "history"`);
    }
    const seen = new Set([current.hash]);
    const what = `a version in the history of ${name}`;
    const history = list.items.map((item): Version => {
      const offset = offsetOf(item, at);
      const own = this.fields(item, offset, what, ["hash", "timestamp"]);
      const version = this.version(own, offset, what);
      if (seen.has(version.hash)) throw this.violation(offset, `${name} has ${version.hash} twice`);
      seen.add(version.hash);
      return version;
    });
    return { ...current, history };
  }

  private version(fields: Entries, at: number, what: string): Version {
    const [hashNode, timeNode] = [fields.get("hash")?.value, fields.get("timestamp")?.value];
    const [hash, timestamp] = [this.scalar(hashNode), this.scalar(timeNode)];
    if (typeof hash !== "string" || !isVersionHash(hash)) {
      const quote = typeof hash === "number" ? ": put it in quotes" : "";
      throw this.violation(offsetOf(hashNode, at), `the hash of ${what} is no bundle hash${quote}`);
    }
    if (!isTimestamp(timestamp)) {
      const reason = `the timestamp of ${what} is no number of milliseconds`;
      throw this.violation(offsetOf(timeNode, at), reason);
    }
    return { hash, timestamp };
  }

  /** The entries of a map; a key that is not in `known` is noted. */
  private fields(node: unknown, at: number, what: string, known: string[]): Entries {
    const entries = this.entries(node, at, what);
    for (const [key, { at: offset }] of entries) {
      if (known.includes(key)) continue;
      this.unknown ??= this.violation(offset, `${show(key)} in ${what} is not known`);
    }
    return entries;
  }

  private entries(node: unknown, at: number, what: string): Entries {
    if (!isMap(node)) {
      const reason = isAlias(node)
        ? "an alias is not allowed here"
        : `${what} is no map of keys and values`;
      throw this.violation(offsetOf(node, at), reason);
    }
    const entries: Entries = new Map();
    for (const { key, value } of node.items) {
      const name = String(this.scalar(key));
      // The library looks for repeated keys too, but in a time that grows with their number squared.
      if (entries.has(name)) throw this.violation(offsetOf(key), `${show(name)} is there twice`);
      entries.set(name, { value, at: offsetOf(key, at) });
    }
    return entries;
  }

  private scalar(node: unknown): unknown {
    return isScalar(node) ? node.value : undefined;
  }
}

function offsetOf(node: unknown, otherwise = 0): number {
  return (node as Partial<Node> | null | undefined)?.range?.[0] ?? otherwise;
}
