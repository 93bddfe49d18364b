import { describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { files, readSource } from "./source.ts";

/** The console's folders, from the bottom. */
const layers: Record<string, number> = { lib: 0, ui: 1, features: 2, pages: 3 };

const top = "apps/web/src/";
const sources = files(`${top}**/*.{ts,tsx}`)
  .filter((path) => !path.endsWith(".test.ts"))
  .map(readSource);

/**
 * What a file is a part of: `features/graph`, `pages/thread`, `ui`, `lib`. Null for the files at the top,
 * which put the parts together.
 */
function partOf(path: string): { layer: number; part: string } | null {
  const [folder = "", ...rest] = path.slice(top.length).split("/");
  if (rest.length === 0) return null;
  const part = rest.length > 1 ? `${folder}/${rest[0]}` : folder;
  return { layer: layers[folder] ?? -1, part };
}

describe("the folders of the console", () => {
  test("each have a layer", () => {
    expect(sources.filter(({ path }) => partOf(path)?.layer === -1)).toEqual([]);
  });

  test("are imported only from above, and no feature or page by another one", () => {
    const climbs = sources.flatMap(({ path, imports }) =>
      imports
        .filter(({ from }) => {
          const here = partOf(path);
          if (!from.startsWith(".") || here === null) return false;
          const there = partOf(join(dirname(path), from));
          return there === null || (there.part !== here.part && there.layer >= here.layer);
        })
        .map(({ from, line }) => `${path}:${line} climbs to ${from}`),
    );
    expect(climbs).toEqual([]);
  });

  test("hold about a dozen files each, and few that say little", () => {
    const parts = Map.groupBy(sources, ({ path }) => partOf(path)?.part ?? "");
    const crowded = [...parts].filter(([, all]) => all.length > 16).map(([part]) => part);
    expect(crowded).toEqual([]);
  });
});
