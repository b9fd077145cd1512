import {reportStalled} from './zz.js'; await reportStalled();
