import type { Fixture } from "@uncaged/workflow/host";
import { checkFixture, messageOf } from "@uncaged/workflow/internal";
import { jsonOf } from "../arguments/values.ts";
import { badFixture } from "./errors.ts";

/** Reads the fixture file of an option. @throws WorkflowError `BAD_FIXTURE`, and the errors of `jsonOf`. */
export async function fixtureIn(file: string, option: string): Promise<Fixture> {
  const value = await jsonOf(option, `@${file}`);
  try {
    return checkFixture(value);
  } catch (error) {
    throw badFixture(file, messageOf(error));
  }
}
