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
 * Key that this package adds to source maps. If the source is data, such as JSON, its value maps each role to the
 * position of its description as `[source, line, column]`.
 */
const rolesKey = "x_uncaged_roles";

/** A position in a source text. Lines and columns count from 1, columns in UTF-16 code units. */
export type SourcePosition = { line: number; column: number };

/** Positions of roles in a source that is data, by role name. */
export type RolePositions = Readonly<Record<string, SourcePosition>>;

/** A position in the sources. `origin`: the author's code, a package, or this project's runtime code. */
export type Original = { at: ErrorPosition; origin: "author" | "package" | "runtime" };

/** Maps positions in a built bundle to the author's sources. Parses its text at the first use. */
export class SourceMap {
  readonly text: string;
  readonly #folder: string;
  #parsed: Parsed | null | undefined;

  /** @param folder The folder of the sources; "" when unknown. */
  constructor(text: string, folder = "") {
    this.text = text;
    this.#folder = folder;
  }

  /** Reads the source map at a path; null when it is missing or unreadable. */
  static at(path: string): SourceMap | null {
    try {
      const bytes = readOwnFile(path, largestMap);
      return bytes && new SourceMap(new TextDecoder().decode(bytes));
    } catch {
      return null;
    }
  }

  /** Returns whether a text is a source map of one file. */
  static isMap(text: string): boolean {
    try {
      const { version, mappings, sources } = JSON.parse(text) as Record<string, unknown>;
      return version === 3 && typeof mappings === "string" && Array.isArray(sources);
    } catch {
      return false;
    }
  }

  /** Returns the original position; null when the map lacks it or is damaged. */
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

  /** Returns the author's name for the identifier at a position; null when the map lacks it or is damaged. */
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

  /** Returns the position of a role's description if the source is data; null otherwise. */
  ofRole(role: string): ErrorPosition | null {
    return this.#ask(({ map, roles }) => {
      const [index, line, column] = (Object.hasOwn(roles, role) && roles[role]) || [-1, 0, 0];
      const source = map.resolvedSources[index];
      if (!source) return null;
      return this.#positionIn(source, { line, column }, map.sourcesContent?.[index]);
    });
  }

  /**
   * Returns the first mention of a role in the author's sources: as a returned or chosen text, else as any text, else
   * as a word. Returns null without a mention.
   */
  mentionOf(role: string): ErrorPosition | null {
    return this.#ask(({ map, ignored }) => {
      const word = role.replace(/[^\w]/g, "\\$&");
      const text = `(["'\`])${word}\\1`;
      const patterns = [`(?<=\\b(return|yield)\\s+|[?:]\\s|=>\\s*)${text.replace("1", "2")}`, text];
      for (const pattern of [...patterns, `(?<![\\w$.-])${word}(?![\\w$-])`]) {
        for (const [index, source] of map.resolvedSources.entries()) {
          const content = map.sourcesContent?.[index];
          if (!content || ignored.has(source) || otherPackage.test(source)) continue;
          const at = content.search(new RegExp(pattern));
          if (at < 0) continue;
          const before = content.slice(0, at).split("\n");
          const position = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
          return this.#positionIn(source, position, content);
        }
      }
      return null;
    });
  }

  /** The path of the source that is data; null if there is none. */
  get document(): string | null {
    try {
      const json = JSON.parse(this.text) as { sources: string[]; [rolesKey]?: object };
      return json[rolesKey] ? (json.sources.at(-1) ?? null) : null;
    } catch {
      return null;
    }
  }

  /** Adds sources that are data to a map's text, and the positions of roles in the last source. */
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

  // Synchronous, because the end of an attempt must be recorded before the end of its thread.
  #parse(): Parsed | null {
    try {
      // Keep this literal name: it makes the published build include the package.
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

/**
 * Returns the text of a source's line at a position, cut to 200 characters, and the surrounding lines if none of them
 * is longer.
 */
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
