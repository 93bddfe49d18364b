import { readdirSync, readFileSync } from "node:fs";

/*
 * Which file may import which. `npm run imports` checks it, type imports included.
 *
 * The layers of a package are its folders, from the bottom: an import goes to a lower layer or stays in its folder.
 * Folders in one inner list do not import each other. Files directly in `src` are above all folders.
 */
const packages = [
  {
    home: "packages/workflow",
    layers: [
      "contract",
      ["system", "control", "document"],
      ["record", "sandbox", "moderator", "editing"],
      ["durable", "store"],
      "disk",
      ["project", "registry"],
      "bundle",
      ["engine", "host"],
      ["testing", "remote", "upgrade"],
      "worker",
      ["local", "chaos"],
      "embedded",
      "entry",
    ],
    mayImport: [],
  },
  {
    home: "packages/workflow-agents",
    layers: [
      "run",
      ["child", "content", "http", "limit", "ledger"],
      ["command", "tools", "worktree"],
      ["llm", "mcp"],
      ["anthropic", "openai", "scripted", "extract"],
      ["models", "role"],
      "recorded-call",
      ["ai-sdk", "openai-agents"],
      "entry",
    ],
    mayImport: [
      "@uncaged/workflow",
      "@uncaged/workflow/interpreter",
      "@uncaged/workflow/records",
      "@uncaged/workflow/sandbox",
    ],
  },
  {
    home: "packages/evals",
    layers: ["run", "entry"],
    mayImport: [
      "@uncaged/workflow/host",
      "@uncaged/workflow/internal",
      "@uncaged/workflow/interpreter",
      "@uncaged/workflow/records",
      "@uncaged/workflow-agents/ledger",
    ],
  },
  {
    home: "packages/workflow-steps",
    layers: [
      ["expression", "adapter"],
      "document",
      ["adapters", "check", "state"],
      ["context", "step", "source", "editing"],
      "interpreter",
      ["engine", "bundle"],
      "entry",
    ],
    mayImport: [
      "@uncaged/workflow",
      "@uncaged/workflow/document",
      "@uncaged/workflow/editing",
      "@uncaged/workflow/interpreter",
      "@uncaged/workflow-agents",
      "@uncaged/workflow-agents/interpreter",
    ],
  },
  {
    home: "packages/workflow-graph",
    layers: [
      ["agent", "document"],
      "guardrail",
      ["outline", "agents"],
      ["state", "check"],
      ["node", "source", "import", "editing"],
      "interpreter",
      "run",
      "bundle",
      "entry",
    ],
    mayImport: [
      "@uncaged/workflow",
      "@uncaged/workflow/document",
      "@uncaged/workflow/editing",
      "@uncaged/workflow/interpreter",
      "@uncaged/workflow/records",
      "@uncaged/workflow-agents",
      "@uncaged/workflow-agents/interpreter",
    ],
  },
  {
    home: "packages/workflow-plan",
    layers: [
      ["error", "guard", "reference"],
      ["plan", "secret"],
      ["config", "layout", "channel", "agent", "mount", "check"],
      ["sandbox", "ipc", "state", "planner", "trigger", "editing"],
      ["mcp", "step", "preview", "interpreter", "source"],
      ["bundle"],
      ["store"],
      ["runs"],
      ["home"],
      ["service", "planning"],
      ["router"],
      ["terminal"],
      ["entry"],
    ],
    mayImport: [
      "@uncaged/workflow",
      "@uncaged/workflow/document",
      "@uncaged/workflow/editing",
      "@uncaged/workflow/host",
      "@uncaged/workflow/internal",
      "@uncaged/workflow/interpreter",
      "@uncaged/workflow/sandbox",
      "@uncaged/workflow-agents",
      "@uncaged/workflow-agents/interpreter",
    ],
  },
  {
    home: "packages/workflow-restate",
    layers: [
      ["cluster", "thread"],
      "client",
      ["mirror", "service"],
      "store",
      ["worker", "host"],
      "entry",
    ],
    mayImport: [
      "@uncaged/workflow",
      "@uncaged/workflow/host",
      "@uncaged/workflow/internal",
      "@uncaged/workflow/interpreter",
      "@uncaged/workflow/records",
      "@uncaged/workflow/store",
    ],
  },
  {
    home: "packages/workflow-postgres",
    layers: ["database", "schema", "store", ["worker", "host"], "entry"],
    mayImport: ["@uncaged/workflow/host", "@uncaged/workflow/internal", "@uncaged/workflow/store"],
  },
  {
    home: "packages/server",
    layers: [
      "schema",
      ["guard", "console", "stream"],
      "routes",
      ["runs", "graphs", "plans", "mcp", "remote"],
      "server",
      "entry",
    ],
    mayImport: [
      "@uncaged/workflow/document",
      "@uncaged/workflow/host",
      "@uncaged/workflow/internal",
      "@uncaged/workflow/records",
      "@uncaged/workflow-agents/ledger",
      "@uncaged/workflow-evals",
      "@uncaged/workflow-graph",
      "@uncaged/workflow-graph/agents",
      "@uncaged/workflow-graph/document",
      "@uncaged/workflow-graph/run",
      "@uncaged/workflow-graph/source",
      "@uncaged/workflow-plan",
      "@uncaged/workflow-plan/service",
      "@uncaged/workflow-plan/source",
      "@uncaged/workflow-plan/terms",
      "@uncaged/workflow-steps",
      "@uncaged/workflow-steps/source",
      "@uncaged/workflow-steps/threads",
    ],
  },
  {
    home: "packages/otel",
    layers: [["span", "progress"], "export", "watch", "entry"],
    mayImport: [
      "@uncaged/workflow/host",
      "@uncaged/workflow/internal",
      "@uncaged/workflow/records",
    ],
  },
  {
    home: "apps/web",
    layers: ["lib", "ui", ["editor", "thread"], "workflow", "kinds", "pages"],
    // Their own folders do not import each other.
    divided: ["kinds", "pages"],
    mayImport: [
      "@uncaged/workflow/editing",
      "@uncaged/workflow/records",
      "@uncaged/workflow-graph/document",
      "@uncaged/workflow-graph/editing",
      "@uncaged/workflow-graph/import",
      "@uncaged/workflow-graph/run",
      "@uncaged/workflow-plan/editing",
      "@uncaged/workflow-server/api-types",
      "@uncaged/workflow-steps/document",
      "@uncaged/workflow-steps/editing",
    ],
  },
  {
    home: "packages/cli-workflow",
    layers: [
      "output",
      "session",
      ["arguments", "completion", "doctor", "manual", "project", "skill"],
      ["attest", "bisect", "eval", "follow", "plan", "worker"],
      "chaos",
      "console",
      "dev",
      "commands",
      "program",
    ],
    mayImport: [
      "@uncaged/workflow",
      "@uncaged/workflow/client",
      "@uncaged/workflow/document",
      "@uncaged/workflow/host",
      "@uncaged/workflow/internal",
      "@uncaged/workflow/records",
      "@uncaged/workflow-agents/ledger",
      "@uncaged/workflow-evals",
      "@uncaged/workflow-graph/import",
      "@uncaged/workflow-graph/source",
      "@uncaged/workflow-plan",
      "@uncaged/workflow-plan/service",
      "@uncaged/workflow-plan/source",
      "@uncaged/workflow-plan/terms",
      "@uncaged/workflow-plan/tools",
      "@uncaged/workflow-plan/worker",
      "@uncaged/workflow-postgres",
      "@uncaged/workflow-restate",
      "@uncaged/workflow-restate/cluster",
      "@uncaged/workflow-restate/worker",
      "@uncaged/workflow-server",
      "@uncaged/workflow-server/mcp",
      "@uncaged/workflow-steps",
      "@uncaged/workflow-steps/source",
      "@uncaged/workflow-steps/threads",
      "@uncaged/workflow-telemetry",
    ],
  },
];

const error = (name, comment, from, to) => ({ name, severity: "error", comment, from, to });

/** The files of entry points by their names, `@uncaged/workflow/host`. */
const entryPoints = Object.fromEntries(
  packages.flatMap(({ home }) => {
    const { name, exports = {} } = JSON.parse(readFileSync(`${home}/package.json`, "utf8"));
    return Object.entries(exports).map(([as, file]) => [name + as.slice(1), home + file.slice(1)]);
  }),
);
const fileOf = (name) => {
  if (!(name in entryPoints)) throw new Error(`${name}: entry point not found`);
  return `^${entryPoints[name]}$`;
};

function layerRules({ home, layers, divided = [] }) {
  const src = `${home}/src`;
  const named = layers.flat();
  const found = readdirSync(src, { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .map(({ name }) => name);
  const [unknown] = found.filter((name) => !named.includes(name));
  const [gone] = named.filter((name) => !found.includes(name));
  if (unknown)
    throw new Error(`${src}/${unknown}: missing in the layers of .dependency-cruiser.mjs`);
  if (gone)
    throw new Error(`${src}/${gone}: folder not found; delete it in .dependency-cruiser.mjs`);
  return layers.flatMap((layer, at) =>
    [layer].flat().map((folder) => {
      const isDivided = divided.includes(folder);
      const below = layers.slice(0, at).flat();
      return error(
        "only-down",
        "imports a layer that is not below its own",
        { path: `^${src}/${folder}/${isDivided ? "([^/]+)/" : ""}` },
        {
          path: `^${src}/`,
          pathNot: `^${src}/(${[isDivided ? `${folder}/$1` : folder, ...below].join("|")})/`,
        },
      );
    }),
  );
}

const packageRules = ({ home, mayImport }) => [
  error(
    "packages-by-name",
    "imports a file of another package by its path",
    { path: `^${home}/src/` },
    {
      path: "^(packages|apps|scripts|test|bench)/",
      pathNot: `^${home}/`,
      dependencyTypes: ["local"],
    },
  ),
  error(
    "only-named-packages",
    "imports an entry point of another package that is not in its `mayImport`",
    { path: `^${home}/src/` },
    { path: "^(packages|apps)/", pathNot: [`^${home}/`, ...mayImport.map(fileOf)] },
  ),
];

export default {
  forbidden: [
    ...packages.flatMap(layerRules),
    ...packages.flatMap(packageRules),
    error("no-cycle", "is part of a cycle", {}, { circular: true }),
    error(
      "system-port",
      "reaches the operating system without packages/workflow/src/system/port.ts",
      {
        path: "^packages/workflow/src/",
        pathNot: [
          "^packages/workflow/src/(system|sandbox|contract|moderator|durable|testing)/",
          // Processes of their own, and what a worker does before it loads a bundle.
          "^packages/workflow/src/bundle/(build|build-child|child|confined|held-folder|inspect-child|own-packages|prepare)[.]ts$",
          "^packages/workflow/src/upgrade/(check|copy|replay-child|replays)[.]ts$",
          "^packages/workflow/src/worker/(main|isolate)[.]ts$",
          "^packages/workflow/src/chaos/(chaos-child|folder)[.]ts$",
          "^packages/workflow/src/document/entry-files[.]ts$",
        ],
      },
      {
        path: "^(bun:ffi|bun:sqlite|fs|fs/promises|child_process|crypto|http|net|os|timers|timers/promises)$",
        dependencyTypes: ["core"],
      },
    ),
    error(
      "agents-import-at-once",
      "imports while it runs, which a bundle must not",
      { path: "^packages/workflow-agents/src/" },
      { dynamic: true },
    ),
    error(
      "steps-by-adapters",
      "reaches Node or the agents outside of the adapters and the sources",
      {
        path: "^packages/workflow-steps/src/",
        pathNot: "^packages/workflow-steps/src/(entry|adapters|source)/",
      },
      {
        path: [
          ...["@uncaged/workflow/document", "@uncaged/workflow-agents"].map(fileOf),
          "^[a-z_/]+$",
        ],
        pathNot: "^diagnostics_channel$",
      },
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    exclude: {
      path: "[.]test[.]tsx?$|/template/|^(packages|apps)/[^/]+/(test|bench|dist|schema|public|bin)/",
    },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "default"],
    },
  },
};
