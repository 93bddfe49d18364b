import { isBuiltin } from "./builtins.ts";
import { keptNames } from "./kept-names.ts";
import { lexModule } from "./syntax.ts";

const dirname = "__uncagedDirname";
const filename = "__uncagedFilename";
const debugId = /\n*\/\/# debugId=[0-9A-F]+\s*$/;

type BuiltMap = { mappings: string; sources: string[]; ignoreList?: number[]; debugId?: string };

/**
 * Values for Bun's option `define`. Without them, Bun would write the absolute `__dirname` and `__filename` of each
 * CommonJS file into the code. These names refer to the bundle itself at run time.
 */
export const portableNames = { __dirname: dirname, __filename: filename };

/**
 * Converts Bun's output to a bundle: removes the debug id (a digest over paths), defines {@link portableNames}, and
 * restores the names of classes and functions. Turns each `import()` of a built-in module, which packages use to
 * support browsers, into a static import: bundles may not use `import()`. Additions are separate lines and replacements
 * keep the length, so the map stays valid. Adds the sources selected by `isRuntime` to the map's `ignoreList`.
 */
export function finishBuild(
  code: string,
  map: string,
  isRuntime: (source: string) => boolean,
): { code: string; map: string } {
  const whole = `${code.replace(debugId, "").trimEnd()}\n`;
  const plain = whole + keptNames(whole, map);
  const { text, declarations } = withStaticImports(plain);
  if (plain.includes(dirname)) declarations.push(`var ${dirname}=import.meta.dirname;`);
  if (plain.includes(filename)) declarations.push(`var ${filename}=import.meta.filename;`);
  const parsed = JSON.parse(map) as BuiltMap;
  delete parsed.debugId;
  parsed.ignoreList = parsed.sources.flatMap((source, n) => (isRuntime(source) ? [n] : []));
  if (declarations.length === 0) return { code: text, map: JSON.stringify(parsed) };
  parsed.mappings = `;${parsed.mappings}`;
  const head = /^(#!.*\n)?(\/\/ @bun.*\n)?/.exec(text)?.[0] ?? "";
  const line = `${declarations.join("")}\n`;
  return { code: head + line + text.slice(head.length), map: JSON.stringify(parsed) };
}

function withStaticImports(code: string): { text: string; declarations: string[] } {
  const names = new Map<string, string>();
  let text = code;
  for (const { start, end, module } of importedBuiltins(code)) {
    const name = names.get(module) ?? unusedName(code, [...names.values()]);
    names.set(module, name);
    text = text.slice(0, start) + `${name}()`.padEnd(end - start) + text.slice(end);
  }
  const declarations = Array.from(
    names,
    ([module, name]) =>
      `import*as ${name}_ from${JSON.stringify(module)};var ${name}=()=>Promise.resolve(${name}_);`,
  );
  return { text, declarations };
}

function importedBuiltins(code: string): { start: number; end: number; module: string }[] {
  return lexModule(code).imports.flatMap((found) => {
    if (found.type !== "dynamic" || found.attributesStart !== -1 || found.glob) return [];
    const { specifier, importStart: start, importEnd: end } = found;
    return specifier !== undefined && isBuiltin(specifier)
      ? [{ start, end, module: specifier }]
      : [];
  });
}

// The name must be short enough to replace `import("fs")` together with its parentheses.
function unusedName(code: string, taken: string[]): string {
  for (let number = 0; ; number++) {
    const name = `$i${number}`;
    if (!taken.includes(name) && !code.includes(name)) return name;
  }
}
