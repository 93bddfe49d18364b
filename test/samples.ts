import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { top } from "./source.ts";

/** Returns the samples of a guide in a language, by their fences. */
export const samplesIn = (guide: string, language: string): string[] =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, sample = ""]) => sample,
  );

/**
 * Returns TypeScript's errors in the `.ts` files of a folder two levels below the repository's top, else an empty text.
 */
export function typeErrorsIn(folder: string): string {
  const settings = {
    extends: "../../tsconfig.json",
    compilerOptions: { typeRoots: [join(top, "node_modules")] },
    include: ["*.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const tsc = join(top, "node_modules/.bin/tsc");
  const { stdout, exitCode } = Bun.spawnSync([tsc, "-p", folder]);
  return exitCode === 0 ? stdout.toString() : `${stdout.toString()}exit code ${exitCode}`;
}
