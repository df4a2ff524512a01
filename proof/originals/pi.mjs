// Call the `read` tool of pi: one JSON object per line in, one answer out.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [module, root] = process.argv.slice(2);
const { createReadTool } = await import(pathToFileURL(module));
const tool = createReadTool(root);
for await (const line of createInterface({ input: process.stdin })) {
    let answer;
    try {
        const result = await tool.execute("1", JSON.parse(line).arguments);
        answer = { failed: false, content: result.content };
    } catch (error) {
        answer = { failed: true, content: [{ type: "text", text: error.message }] };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
}
