import { createHash } from "node:crypto";

/** Returns the prefix of the folders of a plan home's check scripts. */
export const checkPrefix = (planHome: string): string =>
  `check-${createHash("sha256").update(planHome).digest("hex").slice(0, 12)}-`;
