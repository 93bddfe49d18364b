/**
 * A source's text as a module that can be built. `resolve` says which file each package stands for
 * that the module imports by its name: those of the program that is running, for the source's own
 * folder need have none. What those files import is found from where they lie.
 */
export type SourceModule = { code: string; resolve: Readonly<Record<string, string>> };

/**
 * A kind of source beside TypeScript, brought by the program that adds it.
 *
 * `module` must depend on the text alone and not on where the file lies: the same source then gives
 * the same hash everywhere. What is wrong with the text it throws, with the position in the text.
 * @example const sources = [{ matches: (file) => file.endsWith(".json"), module: toModule }];
 */
export type SourceKind = {
  matches(file: string): boolean;
  module(text: string, file: string): Promise<SourceModule>;
};
