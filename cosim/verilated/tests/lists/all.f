// What a simulator takes with -F.
+incdir+ip/inc
+define+STEP=3
-Wno-WIDTHTRUNC
-F ip/ip.f
listed.sv
