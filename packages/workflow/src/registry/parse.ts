import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type YAMLError } from "yaml";
import { messageOf } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { checkRegisteredName } from "../contract/names.ts";
import { isSha256 } from "../record/sha256.ts";
import {
  isRegistrySum,
  isTimestamp,
  isVersionHash,
  type Registry,
  registrySum,
  type Version,
  type Workflow,
} from "./registry.ts";

/** Syntax error of a registry with line and column, counted from 1. */
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
 * A parsed registry. `unknown` is the first unknown key: the file is readable, but writing it would lose the key.
 * `changed` is the position of a sum that does not match the entries. `lines` has the line of each version, by {@link
 * placeOf}.
 */
export type Parsed = {
  registry: Registry;
  unknown: SyntaxViolation | null;
  changed: SyntaxViolation | null;
  lines: ReadonlyMap<string, number>;
};

/** Returns the key of a name's version in `lines`. */
export const placeOf = (name: string, hash: string): string => `${name} ${hash}`;

const tooDeep = "it is nested too deeply";

/**
 * Parses a registry: any YAML 1.2 without aliases and tags.
 * @throws SyntaxViolation
 */
export function parseRegistry(text: string): Parsed {
  const reader = new Reader(text);
  try {
    const registry = reader.read();
    const { unknown, changed, lines } = reader;
    return { registry, unknown, changed, lines };
  } catch (error) {
    throw error instanceof RangeError ? reader.violation(0, tooDeep) : error;
  }
}

function sentence({ code, message }: YAMLError): string {
  if (code === "MULTIPLE_DOCS") return "a second document begins here";
  return message.startsWith("Maximum call stack") ? tooDeep : messageOf(message);
}

/** Values of a map by key, with the position of each key. */
type Entries = Map<string, { value: unknown; at: number }>;

class Reader {
  unknown: SyntaxViolation | null = null;
  changed: SyntaxViolation | null = null;
  readonly lines = new Map<string, number>();
  readonly #lineStarts: number[] = [0];

  constructor(private readonly text: string) {
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      this.#lineStarts.push(at + 1);
    }
  }

  /** Returns the line number of an offset, from 1. */
  #lineOf(offset: number): number {
    let [low, high] = [0, this.#lineStarts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#lineStarts[middle] as number) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  violation(offset: number, reason: string): SyntaxViolation {
    const lines = this.text.slice(0, offset).split("\n");
    return new SyntaxViolation(lines.length, (lines.at(-1)?.length ?? 0) + 1, reason);
  }

  read(): Registry {
    const { text } = this;
    if (text.trim() === "") throw this.violation(0, "the file is empty");
    if (text.includes("\0")) throw this.violation(text.indexOf("\0"), "unexpected NUL byte");
    const document = parseDocument(text, {
      prettyErrors: false,
      strict: true,
      uniqueKeys: false,
      stringKeys: true,
    });
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem) throw this.violation(problem.pos[0], sentence(problem));
    if (/[0-9]$/.test(text)) {
      const reason = "missing newline after the last line: the file may have been truncated";
      throw this.violation(text.length - 1, reason);
    }
    const top = this.fields(document.contents, 0, "the registry", ["workflows", "sum"]);
    const registry = new Map<string, Workflow>();
    for (const [name, { value, at }] of this.entries(top.get("workflows")?.value, 0, "workflows")) {
      try {
        checkRegisteredName(name);
      } catch (error) {
        throw this.violation(at, messageOf(error));
      }
      registry.set(name, this.workflow(name, value, at));
    }
    this.#checkSum(registry, top.get("sum"));
    return registry;
  }

  #checkSum(registry: Registry, found: { value: unknown; at: number } | undefined): void {
    if (!found) return;
    const sum = this.scalar(found.value);
    const offset = offsetOf(found.value, found.at);
    if (!isRegistrySum(sum)) throw this.violation(offset, "the sum is not 16 hexadecimal digits");
    if (sum === registrySum(registry)) return;
    this.changed = this.violation(offset, "the entries do not have this sum");
  }

  private workflow(name: string, node: unknown, at: number): Workflow {
    const fields = this.fields(node, at, name, ["hash", "sha256", "timestamp", "history"]);
    const current = this.version(fields, at, name, name);
    const list = fields.get("history")?.value;
    if (!isSeq(list)) {
      throw this.violation(offsetOf(list, at), `missing list "history" of ${name}`);
    }
    const seen = new Set([current.hash]);
    const what = `a version in the history of ${name}`;
    const history = list.items.map((item): Version => {
      const offset = offsetOf(item, at);
      const own = this.fields(item, offset, what, ["hash", "sha256", "timestamp"]);
      const version = this.version(own, offset, what, name);
      if (seen.has(version.hash)) throw this.violation(offset, `${name} has ${version.hash} twice`);
      seen.add(version.hash);
      return version;
    });
    return { ...current, history };
  }

  private version(fields: Entries, at: number, what: string, name: string): Version {
    const [hashNode, timeNode] = [fields.get("hash")?.value, fields.get("timestamp")?.value];
    const [hash, timestamp] = [this.scalar(hashNode), this.scalar(timeNode)];
    if (typeof hash !== "string" || !isVersionHash(hash)) {
      const quote = typeof hash === "number" ? ": put it in quotes" : "";
      throw this.violation(
        offsetOf(hashNode, at),
        `the hash of ${what} is not a bundle hash${quote}`,
      );
    }
    if (!isTimestamp(timestamp)) {
      const reason = `the timestamp of ${what} is not a number of milliseconds`;
      throw this.violation(offsetOf(timeNode, at), reason);
    }
    this.lines.set(placeOf(name, hash), this.#lineOf(offsetOf(hashNode, at)));
    const sumNode = fields.get("sha256")?.value;
    if (sumNode === undefined) return { hash, timestamp };
    const sha256 = this.scalar(sumNode);
    if (isSha256(sha256)) return { hash, sha256, timestamp };
    const reason = `the sha256 of ${what} is not 64 hexadecimal digits`;
    throw this.violation(offsetOf(sumNode, at), reason);
  }

  /** Returns the entries of a map. Records a key that is not in `known` as unknown. */
  private fields(node: unknown, at: number, what: string, known: string[]): Entries {
    const entries = this.entries(node, at, what);
    for (const [key, { at: offset }] of entries) {
      if (known.includes(key)) continue;
      this.unknown ??= this.violation(offset, `unknown key ${show(key)} in ${what}`);
    }
    return entries;
  }

  private entries(node: unknown, at: number, what: string): Entries {
    if (!isMap(node)) {
      const reason = isAlias(node)
        ? "an alias is not allowed here"
        : `${what} is not a map of keys and values`;
      throw this.violation(offsetOf(node, at), reason);
    }
    const entries: Entries = new Map();
    for (const { key, value } of node.items) {
      const name = String(this.scalar(key));
      // The library's own check for duplicate keys takes quadratic time.
      if (entries.has(name)) throw this.violation(offsetOf(key), `duplicate key ${show(name)}`);
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
