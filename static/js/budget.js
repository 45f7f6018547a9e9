import {connectBudget} from "./controllers/budget.js";

connectBudget(document.querySelector("#budget-open"), document.querySelector("#budget-dialog"));
