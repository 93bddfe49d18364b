import { setDefaultTimeout } from "bun:test";
import { testMutations } from "./stream-property.ts";

setDefaultTimeout(180_000);
testMutations(200);
