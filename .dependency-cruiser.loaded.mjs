/*
 * What an entry point must not load: the modules that stay when types are gone. `npm run imports` checks it.
 *
 * Authors import the first ones into bundles, which run without Node; browsers load the others.
 */
const entryPoints = [
  { file: "packages/workflow/src/entry/index.ts", mayLoad: [] },
  { file: "packages/workflow/src/entry/testing.ts", mayLoad: [] },
  { file: "packages/workflow-steps/src/document.ts", mayLoad: [] },
  { file: "packages/workflow-graph/src/document.ts", mayLoad: ["zod"] },
  { file: "packages/workflow-graph/src/run.ts", mayLoad: ["zod"] },
];

export default {
  forbidden: entryPoints.map(({ file, mayLoad }) => ({
    name: "pure",
    severity: "error",
    comment: "loads a module of Node, or a package that is not in its `mayLoad`",
    from: { path: `^${file}$` },
    to: {
      reachable: true,
      pathNot: ["^(packages|apps)/", ...mayLoad.map((name) => `/node_modules/${name}/`)],
    },
  })),
  options: {
    tsPreCompilationDeps: false,
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "types", "default"],
    },
  },
};
