// Call the `read` tool of pi: one JSON object per line in, one answer out.
import path from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [module, root] = process.argv.slice(2);
const { createReadTool } = await import(pathToFileURL(module));
const packages = module.slice(0, module.indexOf("/pi-coding-agent/"));
const { validateToolArguments } = await import(path.join(packages, "pi-ai/dist/utils/validation.js"));
const tool = createReadTool(root);
for await (const line of createInterface({ input: process.stdin })) {
    let answer;
    try {
        const call = { type: "toolCall", id: "1", name: "read", arguments: JSON.parse(line).arguments };
        const result = await tool.execute("1", validateToolArguments(tool, call));
        answer = { failed: false, content: result.content };
    } catch (error) {
        // The program adds the arguments that it got.
        const text = error.message.split("\n\nReceived arguments:")[0];
        answer = { failed: true, content: [{ type: "text", text }] };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
}
