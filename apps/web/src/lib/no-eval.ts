import { config } from "zod";

// The page's policy refuses functions made from text. Imported before the first schema is made.
config({ jitless: true });
