import { createHash } from "node:crypto";

/** Returns the name prefix of the folders in which a plan home's check scripts run. */
export const checkPrefix = (planHome: string): string =>
  `check-${createHash("sha256").update(planHome).digest("hex").slice(0, 12)}-`;
