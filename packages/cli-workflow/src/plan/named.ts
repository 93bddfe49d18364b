import type { Candidate } from "../completion/completion.ts";
import { oneLine } from "../output/text.ts";
import type { Session } from "../session/session.ts";
import { configSources, withPlans } from "./home.ts";

/* Candidates for completing a command line of `plan`. */

export const namedPlans = (session: Session): Promise<Candidate[]> =>
  withPlans(session, {}, async (plans) =>
    (await plans.list(() => {})).map(({ id: value, name, phase }) => ({
      ...{ value, about: `${oneLine(name)}, ${phase}` },
    })),
  );

export async function namedSecrets(session: Session): Promise<Candidate[]> {
  const { secrets = {} } = await configSources(session);
  return Object.keys(secrets).map((value) => ({ value, about: "" }));
}

export async function namedSettings(): Promise<Candidate[]> {
  const { settings } = await import("@uncaged/workflow-plan/service");
  return settings.map(({ key: value, about }) => ({ value, about }));
}
