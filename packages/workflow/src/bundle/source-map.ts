import { join } from "node:path";
import type { SourceMapInput, TraceMap } from "@jridgewell/trace-mapping";
import type { ErrorPosition } from "../contract/event.ts";
import { readOwnFile } from "../disk/files.ts";
import { requireOwn } from "./own-require.ts";

type Tracing = typeof import("@jridgewell/trace-mapping");
type Parsed = {
  tracing: Tracing;
  map: TraceMap;
  ignored: ReadonlySet<string>;
  roles: Readonly<Record<string, readonly [source: number, line: number, column: number]>>;
};

const largestMap = 64 << 20;
const longestText = 200;
const linesAround = 2;
const otherPackage = /(^|[/\\])node_modules[/\\]/;

/**
 * What a map of ours has beside the standard's keys: for a source that is data, where in it each role is described,
 * as `[source, line, column]`.
 */
const rolesKey = "x_uncaged_roles";

/** A position in a source text; both count from 1, columns in UTF-16 code units. */
export type SourcePosition = { line: number; column: number };

/** Where the roles of a source that is data are described, by their names. */
export type RolePositions = Readonly<Record<string, SourcePosition>>;

/** A position in the sources. `origin`: the author's own, a package's, or of what this program puts around them. */
export type Original = { at: ErrorPosition; origin: "author" | "package" | "runtime" };

/** From positions in a built bundle to those in the author's sources. It is parsed when it is first asked. */
export class SourceMap {
  readonly text: string;
  readonly #folder: string;
  #parsed: Parsed | null | undefined;

  /** @param folder From which it names its sources; "" when nobody knows. */
  constructor(text: string, folder = "") {
    this.text = text;
    this.#folder = folder;
  }

  /** The source map at a path, or null when there is none that can be read. */
  static at(path: string): SourceMap | null {
    try {
      const bytes = readOwnFile(path, largestMap);
      return bytes && new SourceMap(new TextDecoder().decode(bytes));
    } catch {
      return null;
    }
  }

  /** Whether a text is a source map of one file. */
  static isMap(text: string): boolean {
    try {
      const { version, mappings, sources } = JSON.parse(text) as Record<string, unknown>;
      return version === 3 && typeof mappings === "string" && Array.isArray(sources);
    } catch {
      return false;
    }
  }

  /** Where a position comes from; null when the map does not have it, or is damaged. */
  original({ line, column }: SourcePosition): Original | null {
    return this.#ask(({ tracing, map, ignored }) => {
      const found = tracing.originalPositionFor(map, { line, column: Math.max(0, column - 1) });
      if (found.source === null) return null;
      const { source } = found;
      const position = { line: found.line, column: found.column + 1 };
      const own = otherPackage.test(source) ? "package" : "author";
      return {
        at: this.#positionIn(source, position, tracing.sourceContentFor(map, source)),
        origin: ignored.has(source) ? "runtime" : own,
      };
    });
  }

  /** What the author calls the thing whose name begins at this position; null when the map does not know. */
  nameAt({ line, column }: SourcePosition): string | null {
    return this.#ask(({ tracing, map }) => {
      const segment = tracing.traceSegment(map, line - 1, column - 1);
      if (!segment || segment.length === 1 || segment[0] !== column - 1) return null;
      const [, source, row, start, name] = segment;
      if (name !== undefined) return map.names[name] ?? null;
      const text = map.sourcesContent?.[source]?.split("\n", row + 1)[row] ?? "";
      return /^[\p{ID_Start}$_#][\p{ID_Continue}$]*/u.exec(text.slice(start))?.[0] ?? null;
    });
  }

  /** Where a role is described, if the source is data. */
  ofRole(role: string): ErrorPosition | null {
    return this.#ask(({ map, roles }) => {
      const [index, line, column] = (Object.hasOwn(roles, role) && roles[role]) || [-1, 0, 0];
      const source = map.resolvedSources[index];
      if (!source) return null;
      return this.#positionIn(source, { line, column }, map.sourcesContent?.[index]);
    });
  }

  /** The source that is data, where there is one. */
  get document(): string | null {
    try {
      const json = JSON.parse(this.text) as { sources: string[]; [rolesKey]?: object };
      return json[rolesKey] ? (json.sources.at(-1) ?? null) : null;
    } catch {
      return null;
    }
  }

  /** The map's text with sources that are data, and where in the last one the roles are described. */
  static withRoles(
    text: string,
    data: readonly (readonly [file: string, content: string | null])[],
    roles: RolePositions,
  ): string {
    const map = JSON.parse(text) as { sources: string[]; sourcesContent: (string | null)[] };
    const index = map.sources.length + data.length - 1;
    const entries = Object.entries(roles).map(([role, { line, column }]) => [
      role,
      [index, line, column],
    ]);
    return JSON.stringify({
      ...map,
      sources: [...map.sources, ...data.map(([file]) => file)],
      sourcesContent: [...map.sourcesContent, ...data.map(([, content]) => content)],
      [rolesKey]: Object.fromEntries(entries) as unknown,
    });
  }

  #positionIn(source: string, { line, column }: SourcePosition, content?: string | null) {
    const file = join(this.#folder, source);
    return { file, line, column, ...(content && linesAt(content, { line, column })) };
  }

  #ask<T>(question: (parsed: Parsed) => T | null): T | null {
    try {
      if (this.#parsed === undefined) this.#parsed = this.#parse();
      return this.#parsed && question(this.#parsed);
    } catch {
      return null;
    }
  }

  // At once and not as a promise: an attempt's end is recorded before the thread's.
  #parse(): Parsed | null {
    try {
      // Under this name, and no other, it is built into what is published.
      const tracing = requireOwn(() => require("@jridgewell/trace-mapping") as Tracing);
      const json = JSON.parse(this.text) as SourceMapInput & { [rolesKey]?: Parsed["roles"] };
      const map = new tracing.TraceMap(json);
      const ignored = new Set(map.resolvedSources.filter((_, n) => map.ignoreList?.includes(n)));
      return { tracing, map, ignored, roles: json[rolesKey] ?? {} };
    } catch {
      return null;
    }
  }
}

/** The text of the line of a source at a position, and the lines around it as far as people can read them. */
export function linesAt(
  content: string,
  { line, column }: SourcePosition,
): Pick<ErrorPosition, "text" | "frame"> {
  const first = Math.max(1, line - linesAround);
  const lines = content.split("\n", line + linesAround).slice(first - 1);
  const whole = lines[line - first] ?? "";
  const start = whole.length > longestText ? Math.max(0, column - longestText / 2) : 0;
  const text = whole.slice(start, start + longestText).trim();
  if (text === "") return {};
  if (start > 0 || lines.some((one) => one.length > longestText)) return { text };
  const shown = lines.map((one) => one.trimEnd());
  while (shown.at(-1) === "") shown.pop();
  return { text, frame: { from: first, lines: shown } };
}
