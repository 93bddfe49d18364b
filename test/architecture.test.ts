import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import agentsManifest from "../packages/workflow-agents/package.json";
import stepsManifest from "../packages/workflow-steps/package.json";
import { packages } from "./layers.ts";
import {
  cyclesOf,
  files,
  lineAt,
  type Node,
  readSource,
  type Source,
  target,
  top,
} from "./source.ts";

/** What a bundle's author gets through the entry points `.` and `./testing`: no Node, no dependency. */
const pure = /^packages\/workflow\/src\/((contract|record|moderator|durable|testing)\/|host\/)/;
const pureEntryPoints = [
  "packages/workflow/src/entry/index.ts",
  "packages/workflow/src/entry/testing.ts",
];
/** What of step workflows is read in a browser. */
const pureFormat =
  /^packages\/workflow-steps\/src\/((expression|document|registry|target|outline|check|schema)\/|document\.ts)/;

/** The programs: the files that a process begins with, and so the only ones that may end it. */
const programs = [
  "packages/cli-workflow/src/main.ts",
  "packages/workflow/src/worker/main.ts",
  "packages/workflow/src/bundle/inspect-child.ts",
];

const core = "packages/workflow/src/";
const agents = "packages/workflow-agents/src/";
const steps = "packages/workflow-steps/src/";
const isTest = (path: string) => path.endsWith(".test.ts") || path.includes("/template/");
const sources: Source[] = files("{packages,apps}/*/src/**/*.{ts,tsx}")
  .filter((path) => !isTest(path))
  .map(readSource);
const coreSources = sources.filter(({ path }) => path.startsWith(core));
const byPath = new Map(sources.map((source) => [source.path, source]));

test("every package has its layers", () => {
  const homes = new Set(sources.map(({ path }) => `${path.split("/src/")[0]}/src/`));
  expect(packages.map(({ home }) => home).sort()).toEqual([...homes].sort());
});

describe.each(packages)("the folders of $home", ({ home, layers, divided = [] }) => {
  const own = sources.filter(({ path }) => path.startsWith(home));

  /** The part that a file belongs to, and its layer; null for a file at the top. */
  function partOf(path: string): { part: string; layer: number } | null {
    const [folder = "", ...rest] = path.slice(home.length).split("/");
    if (!path.startsWith(home) || rest.length === 0) return null;
    const part = divided.includes(folder) && rest.length > 1 ? `${folder}/${rest[0]}` : folder;
    return { part, layer: layers[folder] ?? -1 };
  }

  test("each have a layer, and each layer's folder is there", () => {
    const names = own.map(({ path }) => path.slice(home.length).split("/"));
    const folders = names.flatMap(([folder = "", ...rest]) => (rest.length > 0 ? folder : []));
    expect([...new Set(folders)].sort()).toEqual(Object.keys(layers).sort());
  });

  test("import only what is in a lower layer", () => {
    const climbs = own.flatMap(({ path, imports }) =>
      imports
        .filter(({ from }) => {
          const here = partOf(path);
          if (!from.startsWith(".") || here === null) return false;
          const there = partOf(target(path, from));
          // A file at the top is above all folders, but for what is no source: a package.json.
          if (there === null) return target(path, from).startsWith(home);
          return there.part !== here.part && there.layer >= here.layer;
        })
        .map(({ from, line }) => `${path}:${line} imports ${from}`),
    );
    expect(climbs).toEqual([]);
  });

  test("have no cycle of imports", () => {
    expect(cyclesOf(own)).toEqual([]);
  });
});

describe.each(packages)("the files of $home", ({ home, entryPoints }) => {
  test("import other packages by their entry points alone", () => {
    const strays = sources
      .filter(({ path }) => path.startsWith(home))
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ from }) => {
            if (!from.startsWith(".")) {
              return from.startsWith("@uncaged/") && !entryPoints.includes(from);
            }
            const there = target(path, from);
            return !there.startsWith(home) && there !== home.replace("src/", "package.json");
          })
          .map(({ from, line }) => `${path}:${line} imports ${from}`),
      );
    expect(strays).toEqual([]);
  });
});

describe("the folders", () => {
  test("have no index.ts and no name without a meaning", () => {
    const empty = /\/(utils?|helpers?|common|managers?|misc|shared|lib)(\/|\.ts$)/;
    // In the console `lib` has a meaning: what is below all pages and knows no markup.
    const bad = files("{packages,apps}/*/{src,test}/**/*.ts").filter(
      (path) =>
        empty.test(path.replace("apps/web/src/lib/", "apps/web/src/")) ||
        /\/src\/.+\/index\.ts$/.test(path),
    );
    expect(bad).toEqual([]);
  });
});

describe("a test", () => {
  test("that makes a folder takes it away", () => {
    const leaves = files("{packages/**,test}/*.test.ts").filter((path) => {
      const text = readFileSync(join(top, path), "utf8");
      return (
        /mkdtemp|new Store\(|playStore\(/.test(text) && !/\brm(Sync)?\(|removeFolders/.test(text)
      );
    });
    expect(leaves).toEqual([]);
  });
});

/** Everything that an entry point reaches, each with the import that reached it. */
function closureOf(entryPoint: string): Map<string, string> {
  const reached = new Map<string, string>();
  const follow = (path: string, by: string) => {
    if (reached.has(path)) return;
    reached.set(path, by);
    for (const { from, line, isType } of byPath.get(path)?.imports ?? []) {
      if (isType) continue;
      const next = from.startsWith(".") ? target(path, from) : from;
      follow(next, `${path}:${line}`);
    }
  };
  follow(entryPoint, entryPoint);
  reached.delete(entryPoint);
  return reached;
}

describe("the pure entry points", () => {
  test("exist", () => {
    expect(pureEntryPoints.filter((path) => !byPath.has(path))).toEqual([]);
  });

  test("reach only pure folders, and no Node module or dependency", () => {
    const impure = pureEntryPoints.flatMap((entryPoint) =>
      [...closureOf(entryPoint)]
        .filter(([path]) => !pure.test(path))
        .map(([path, by]) => `${by} brings ${path} into ${entryPoint}`),
    );
    expect(impure).toEqual([]);
  });

  test("of the format of step workflows reaches no more than it and those", () => {
    const impure = [...closureOf(`${steps}document.ts`)].filter(
      ([path]) => path !== "@uncaged/workflow" && !pureFormat.test(path),
    );
    expect(impure).toEqual([]);
  });

  test("use no global of Node or Bun", () => {
    const reached = pureEntryPoints.flatMap((entryPoint) => [...closureOf(entryPoint).keys()]);
    const uses = [...new Set(reached)].flatMap((path) => {
      const source = byPath.get(path);
      return source ? globalsOf(source).map((use) => `${path}:${use}`) : [];
    });
    expect(uses).toEqual([]);
  });
});

/** Where a file names `process`, `Bun` and the like, other than as a property. */
function globalsOf(source: Source): string[] {
  return usesOf(source, ["process", "Bun", "Buffer", "require", "__dirname"]);
}

function usesOf({ text, nodes }: Source, globals: string[]): string[] {
  const names = new Set(globals);
  const properties = new Set(
    nodes.flatMap((node) => {
      if (node.computed === true) return [];
      const name = node.type === "MemberExpression" ? node.property : node.key;
      return name ? [(name as Node).start] : [];
    }),
  );
  return nodes
    .filter(({ type, name, start }) => {
      return type === "Identifier" && names.has(name as string) && !properties.has(start);
    })
    .map(({ name, start }) => `${lineAt(text, start)} uses ${name as string}`);
}

describe("the agents", () => {
  const own = sources.filter(({ path }) => path.startsWith(agents));

  test("read the thread's environment and folder, never the process's", () => {
    // It hides the process's environment from the providers' clients.
    const hiding = `${agents}llm/access.ts`;
    const others = own.filter(({ path }) => path !== hiding);
    const reads = others.flatMap(({ path, text, nodes }) =>
      nodes
        .filter(({ type, object, property }) => {
          if (type !== "MemberExpression" || (object as Node).name !== "process") return false;
          return ["env", "cwd", "chdir"].includes((property as Node).name as string);
        })
        .map(({ start }) => `${path}:${lineAt(text, start)}`),
    );
    expect(reads).toEqual([]);
  });

  test("import nothing that they do not depend on, and nothing while they run", () => {
    const { dependencies } = agentsManifest;
    const names = Object.keys(dependencies);
    const strays = own.flatMap(({ path, imports, nodes, text }) => [
      ...imports
        .filter(({ from }) => !from.startsWith(".") && !from.startsWith("node:"))
        .filter(({ from }) => !names.some((name) => from === name || from.startsWith(`${name}/`)))
        .map(({ from, line }) => `${path}:${line} imports ${from}`),
      ...nodes
        .filter(({ type }) => type === "ImportExpression")
        .map(({ start }) => `${path}:${lineAt(text, start)} imports as it runs`),
    ]);
    expect(strays).toEqual([]);
  });
});

describe("the step workflows", () => {
  const own = sources.filter(({ path }) => path.startsWith(steps));
  const strays = (isRight: (path: string, from: string) => boolean): string[] =>
    own.flatMap(({ path, imports }) =>
      imports
        .filter(({ from }) => !from.startsWith(".") && !isRight(path, from))
        .map(({ from, line }) => `${path}:${line} imports ${from}`),
    );
  const isOutside = (path: string) => /^(adapters|source)[./]/.test(path.slice(steps.length));

  test("reach Node and the agents by their adapters and their sources alone", () => {
    const publishes = `${steps}bundle/bundle.ts`;
    const isRight = (path: string, from: string): boolean => {
      if (path === publishes && from === "node:diagnostics_channel") return true;
      return isOutside(path) || !/^(node:|@uncaged\/workflow-agents)/.test(from);
    };
    expect(strays(isRight)).toEqual([]);
  });

  test("know the core by what a bundle may hold and by its documents, and depend on what they import", () => {
    const names = Object.keys(stepsManifest.dependencies);
    const isRight = (path: string, from: string): boolean => {
      if (from.startsWith("node:")) return true;
      if (from === "@uncaged/workflow/document") return isOutside(path);
      if (from.startsWith("@uncaged/workflow/")) return false;
      return names.some((name) => from === name || from.startsWith(`${name}/`));
    };
    expect(strays(isRight)).toEqual([]);
  });

  test("use no global of Node or Bun where they are pure", () => {
    const uses = own
      .filter(({ path }) => !isOutside(path))
      .flatMap((source) => globalsOf(source).map((use) => `${source.path}:${use}`));
    expect(uses).toEqual([]);
  });
});

describe("what browsers have of the agent graphs", () => {
  test.each(["document", "run"])("reaches no Node module: %s", (name) => {
    const pureFolders =
      /^(packages\/workflow-graph\/src\/(agent|document|outline|check|state|node|interpreter|run)\/|zod$|@uncaged\/workflow$)/;
    const reached = [...closureOf(`packages/workflow-graph/src/${name}.ts`)];
    expect(reached.filter(([path]) => !pureFolders.test(path))).toEqual([]);
  });
});

/** The calls of a file whose callee is `name` or `object.name`, with the object's own name. */
function callsOf({ nodes }: Source, names: string[]): { node: Node; object: string }[] {
  return nodes
    .filter(({ type }) => type === "CallExpression")
    .flatMap((node) => {
      const callee = node.callee as Node;
      const named = (callee.type === "MemberExpression" ? callee.property : callee) as Node;
      const object = callee.type === "MemberExpression" ? (callee.object as Node).name : "";
      return names.includes(named.name as string) ? [{ node, object: String(object) }] : [];
    });
}

describe("what drives, records and observes threads", () => {
  // The exports for authors are pure; sources are built and inspected in other processes; sandboxes are also used in bundles.
  const others =
    /^(system|sandbox|contract|moderator|durable|testing)\/|^bundle\/(build|build-child|child|confined|inspect-child|own-packages|prepare)\.ts/;
  // A worker's program, and what it does to its own process before it loads a bundle.
  const ownProcess = ["worker/main.ts", "worker/isolate.ts"];
  const own = coreSources.filter(({ path }) => {
    const name = path.slice(core.length);
    return !others.test(name) && !ownProcess.includes(name);
  });
  const modules =
    /^(bun:(ffi|sqlite)|node:(fs|fs\/promises|child_process|crypto|http|net|os|timers|timers\/promises))$/;
  const globals = ["fetch", "setTimeout", "setInterval", "setImmediate", "performance", "crypto"];
  const members: Record<string, RegExp> = {
    Date: /^now$/,
    Math: /^random$/,
    AbortSignal: /^timeout$/,
    Bun: /^(sleep|sleepSync|spawn|spawnSync|serve|connect|listen|file|write|nanoseconds)$/,
    process: /^(abort|chdir|cwd|exit|hrtime|kill|on|once|pid|ppid|stderr|stdout|umask|uptime)$/,
  };

  test("reaches the world through the port alone", () => {
    const strays = own.flatMap((source) => [
      ...source.imports
        .filter(({ from }) => modules.test(from))
        .map(({ from, line }) => `${source.path}:${line} imports ${from}`),
      ...usesOf(source, globals).map((use) => `${source.path}:${use}`),
      ...source.nodes.flatMap(({ type, object, property, init, start }) => {
        const owner = ((type === "MemberExpression" ? object : init) as Node | null)
          ?.name as string;
        const taken = Object.hasOwn(members, owner ?? "");
        const name = (property as Node | undefined)?.name as string | undefined;
        if (!taken || (name !== undefined && !members[owner]?.test(name))) return [];
        return [`${source.path}:${lineAt(source.text, start)} uses ${owner}.${name ?? "…"}`];
      }),
    ]);
    expect(strays).toEqual([]);
  });
});

test("only a program ends its process", () => {
  const exits = sources
    .filter(({ path }) => !programs.includes(path))
    .flatMap((source) =>
      callsOf(source, ["exit"])
        .filter(({ object }) => object === "process")
        .map(({ node }) => `${source.path}:${lineAt(source.text, node.start)}`),
    );
  expect(exits).toEqual([]);
});

describe("the tags of the debug log", () => {
  const tags = coreSources.flatMap((source) =>
    callsOf(source, ["log", "note", "event"])
      .filter(({ object }) => object !== "console" && object !== "Math")
      .flatMap(({ node }) => {
        const first = (node.arguments as Node[])[0];
        if (first?.type !== "Literal" || typeof first.value !== "string") return [];
        return [{ tag: first.value, at: `${source.path}:${lineAt(source.text, node.start)}` }];
      }),
  );

  test("are found", () => {
    expect(tags.length).toBeGreaterThan(0);
  });

  test("are eight digits of Crockford Base32", () => {
    expect(tags.filter(({ tag }) => !/^[0-9A-HJKMNP-TV-Z]{8}$/.test(tag))).toEqual([]);
  });

  test("stand at one place each", () => {
    const places = Map.groupBy(tags, ({ tag }) => tag);
    expect([...places.values()].filter((uses) => uses.length > 1)).toEqual([]);
  });
});

test("no file is longer than 400 lines", () => {
  const written = files("{packages,apps,scripts,test,bench,examples}/**/*.{ts,tsx,mjs}");
  const long = written
    .map((path) => ({ path, lines: readFileSync(join(top, path), "utf8").split("\n").length - 1 }))
    .filter(({ lines }) => lines > 400);
  expect(long).toEqual([]);
});
