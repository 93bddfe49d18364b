/*
 * The layers of each package: its folders, from the bottom. An import goes to a lower layer or stays in
 * its folder; the files at the top of a package put the folders together. Who moves a folder changes this
 * table and ARCHITECTURE.md.
 */
export type Package = {
  /** The folder of its sources. */
  home: string;
  layers: Record<string, number>;
  /** Folders whose own folders are parts that must not import each other. */
  divided?: string[];
  /** What it may import of the other packages. */
  entryPoints: string[];
};

export const packages: Package[] = [
  {
    home: "packages/workflow/src/",
    layers: {
      contract: 0,
      system: 0,
      attempt: 1,
      storage: 1,
      control: 2,
      moderator: 2,
      durable: 2,
      testing: 3,
      bundle: 3,
      log: 3,
      registry: 4,
      thread: 4,
      engine: 5,
      host: 5,
      worker: 6,
      local: 7,
    },
    entryPoints: [],
  },
  {
    // What a bundle does not use stays out of it, so they know little of each other.
    home: "packages/workflow-agents/src/",
    layers: {
      run: 0,
      child: 1,
      ledger: 1,
      scripted: 1,
      command: 2,
      tools: 2,
      llm: 3,
      mcp: 3,
      anthropic: 4,
      openai: 4,
      extract: 4,
      role: 5,
    },
    entryPoints: ["@uncaged/workflow"],
  },
  {
    // The format, what is read of it, its interpreter, and who drives that.
    home: "packages/workflow-steps/src/",
    layers: {
      expression: 0,
      adapter: 0,
      document: 1,
      registry: 2,
      target: 2,
      outline: 2,
      adapters: 2,
      check: 3,
      state: 3,
      context: 4,
      step: 4,
      source: 4,
      schema: 4,
      interpreter: 5,
      engine: 6,
      bundle: 6,
    },
    entryPoints: ["@uncaged/workflow", "@uncaged/workflow-agents"],
  },
  {
    home: "apps/server/src/",
    layers: { schema: 0, guard: 1, console: 1, stream: 1, routes: 2, runs: 3, server: 4 },
    entryPoints: [
      "@uncaged/workflow/host",
      "@uncaged/workflow-agents/ledger",
      "@uncaged/workflow-steps",
      "@uncaged/workflow-steps/source",
    ],
  },
  {
    home: "apps/web/src/",
    layers: { lib: 0, ui: 1, features: 2, pages: 3 },
    divided: ["features", "pages"],
    entryPoints: ["@uncaged/workflow", "@uncaged/workflow-server/api-types"],
  },
  {
    // What is printed, one call of a command, what commands share, the commands.
    home: "packages/cli-workflow/src/",
    layers: {
      output: 0,
      session: 1,
      arguments: 2,
      completion: 2,
      doctor: 2,
      project: 2,
      follow: 3,
      commands: 4,
      program: 5,
    },
    entryPoints: [
      "@uncaged/workflow",
      "@uncaged/workflow/host",
      "@uncaged/workflow-agents/ledger",
      "@uncaged/workflow-server",
      "@uncaged/workflow-steps",
      "@uncaged/workflow-steps/source",
    ],
  },
];
