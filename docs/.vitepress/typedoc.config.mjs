import { join } from "node:path";
import { manifestOf } from "../../scripts/declarations.ts";
import { entryPointsOf, published } from "../../scripts/published.ts";
import { top } from "../../scripts/test-files.ts";

/* The API reference of the site: one page for each entry point of each published package. */

const entryPoints = published.flatMap((folder) =>
  entryPointsOf(folder).map(({ as, file }) => ({
    path: join(top, "packages", folder, "src", `${file}.ts`),
    /** The name that TypeDoc gives it by its path. */
    given: join(folder, "src", file).replace(/\/index$/, ""),
    name: join(manifestOf(folder).name, as),
  })),
);
const names = new Map(entryPoints.map(({ given, name }) => [given, name]));

/** @param {import("typedoc").Application} app */
function nameModules(app) {
  app.converter.on("resolveBegin", ({ project }) => {
    for (const module of project.children ?? []) {
      module.name = names.get(module.name) ?? module.name;
    }
  });
}

/** @type {import("typedoc").TypeDocOptions & import("typedoc-plugin-markdown").PluginOptions} */
export default {
  name: "API",
  plugin: ["typedoc-plugin-markdown", nameModules],
  entryPoints: entryPoints.map(({ path }) => path),
  tsconfig: join(top, "tsconfig.json"),
  // `npm run types` reports errors of types.
  skipErrorChecking: true,
  out: join(top, "docs/reference/api"),
  router: "module",
  entryFileName: "index",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  readme: "none",
  disableSources: true,
  excludeExternals: true,
  excludePrivate: true,
  validation: { invalidLink: true, notExported: false },
  treatValidationWarningsAsErrors: true,
};
