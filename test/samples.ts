import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { top } from "./source.ts";

/** The samples of a guide in a language, as its fences name it. */
export const samplesIn = (guide: string, language: string): string[] =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, sample = ""]) => sample,
  );

/**
 * The errors of TypeScript in the `.ts` files of a folder, which lies two levels below the top of the repository;
 * empty when there are none.
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
